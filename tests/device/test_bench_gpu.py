from __future__ import annotations

import json

import pytest
import torch

from conformance.bench import gpu
from conformance.device import isolation, policy


@pytest.fixture(autouse=True)
def _policy():
    before = policy.current()
    yield
    policy.select(before)
    isolation.process().close()


def test_workers_compile_first_and_make_passes_in_every_mode():
    with gpu.workers(2, 3) as (started, compiled):
        passes = [started[0].done(mode) for mode in gpu.MODES]
        together = gpu.rate(started)
    examples = 3 * len(gpu.DTYPES) * 4
    assert [each.examples for each in (*compiled, *passes)] == [examples] * 5
    assert all(each.seconds > 0 for each in passes)
    assert together > 0


def test_a_worker_that_ends_is_an_error():
    with gpu.workers(1, 1) as (started, _), pytest.raises(RuntimeError, match="ended before it answered"):
        started[0].done("unmeasured")


def test_a_faulty_kernel_is_not_measured():
    from conformance.faults import tutorial_softmax

    fault = tutorial_softmax.fault
    policy.select(policy.Policy(isolate="never"))
    with pytest.raises(RuntimeError, match="objected to"):
        gpu.run([(gpu.Trial(fault.op, fault.kernel), torch.float32)], examples=60)


def test_without_a_device_there_is_nothing_to_measure(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(RuntimeError, match="CUDA device"):
        gpu.main()


FOUND = {
    "examples_per_second": 2000.0,
    "workers": 4,
    "fence_overhead": 0.05,
    "compile_seconds": 3.0,
    "launch_seconds": 0.5,
    "examples_per_second_by_workers": {"1": 600.0, "4": 2000.0},
    "examples_per_second_isolated": 400.0,
    "isolation_milliseconds": 0.3,
    "allocation_microseconds": 20.0,
    "devices": 1,
    "versions": {"torch": "2.11"},
}


def test_what_is_measured_goes_to_a_file_and_into_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr(gpu, "measure", lambda: FOUND)
    monkeypatch.setattr(gpu, "PAGE", tmp_path / "page.md")
    gpu.PAGE.write_text("# Run\n")
    gpu.main(str(tmp_path / "gpu.json"))
    assert json.loads((tmp_path / "gpu.json").read_text()) == FOUND
    assert "| examples a second, 4 workers | 2,000 |" in gpu.PAGE.read_text()
    assert "| fence, against none | +5.0% |" in capsys.readouterr().out
