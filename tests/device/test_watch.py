from __future__ import annotations

import pytest
import torch
from hypothesis.errors import InvalidArgument

from conformance.device import placement, policy, watch
from conformance.events import Kind
from conformance.observation import Observation, observe
from conformance.regions import Arena


class Parameter:
    def __init__(self, name):
        self.name = name


class Backend:
    def __init__(self):
        self.launched = []

    def compile(self, source, *, options):
        return source

    def launch(self, handle, name, grid, block, args, shared, signature):
        self.launched.append(name)


def launch(observation, grid=(2, 1, 1)):
    inner = Backend()
    x = torch.zeros(8)
    with observe(observation):
        watch.WatchedBackend(inner).launch("k", "add", grid, (64, 1, 1), (x,), 0, (Parameter("x"),))
    return inner.launched


def test_a_cuda_launch_leaves_its_geometry_and_specialization_classes():
    observation = Observation(Arena())
    with watch.counting() as counts:
        assert launch(observation) == ["add"]
    (geometry,) = observation.geometry
    assert (geometry.kernel, geometry.grid, geometry.block) == ("add", (2, 1, 1), (64, 1, 1))
    assert counts.launches == counts.compiles == 1
    assert set(counts.specializations) == {"add.x: aligned"}


def test_a_dry_launch_runs_nothing_and_a_grid_beyond_the_limits_is_an_event():
    observation = Observation(Arena(), dry=True)
    assert launch(observation, (1, 65536, 1)) == []
    (event,) = observation.events
    assert event.kind is Kind.GRID_LIMIT
    assert "65536" in event.detail


def test_every_argument_has_the_class_that_triton_compiles_for():
    values = (1, 16, 3, 2**40, torch.zeros(4)[1:], True, 1.0, None)
    found = dict(entry.split(": ") for entry in watch.classes("abcdefgh", values))
    assert found == {"a": "1", "b": "multiple of 16", "c": "other", "d": "64 bits, multiple of 16", "e": "unaligned"}


def test_classes_that_no_launch_reached_are_named():
    assert watch.missing({"k.n: 1": 3, "k.n: other": 1, "k.x: aligned": 4}) == ["k.n: multiple of 16", "k.x: unaligned"]


def test_the_summary_tells_times_apart_and_names_what_was_not_reached():
    counts = watch.Counts(1.5, 0.25, 3, 40)
    counts.specializations["k.n: 1"] = 2
    times, holes = counts.lines()
    assert "40 compiled launches took 0.2 s" in times
    assert "compiled first, which took 1.5 s" in times
    assert "k.n: multiple of 16" in holes
    assert watch.Counts().lines() == []


def test_counts_survive_json_and_subtract():
    counts = watch.Counts(1.0, 2.0, 3, 4)
    counts.specializations["a: 1"] = 2
    again = watch.Counts.from_json(counts.to_json())
    assert again == counts
    assert counts.since(again) == watch.Counts()


def test_compiling_is_no_part_of_launching():
    with watch.counting() as counts, watch.timed():
        counts.compile_seconds += 5.0
    assert counts.launch_seconds < 0


@pytest.mark.parametrize(("name", "devices", "expected"), [("gw5", 2, 1), ("gw4", 4, 0), ("", 3, 0), ("master", 2, 0)])
def test_worker_k_uses_device_k_modulo_n(name, devices, expected, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER", name)
    assert placement.index(devices) == expected


def test_an_unknown_mode_and_a_time_limit_of_nothing_are_refused():
    with pytest.raises(InvalidArgument, match="isolate"):
        policy.Policy(isolate="sometimes")
    with pytest.raises(InvalidArgument, match="hang_seconds"):
        policy.Policy(hang_seconds=0)
