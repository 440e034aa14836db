from __future__ import annotations

import ending
import pytest
import torch

from conformance import case
from conformance.device import isolation, policy, precompile
from conformance.device.judge import Judge, Remote
from conformance.device.policy import Policy
from conformance.lanes import LANES
from conformance.trial import Trial


@pytest.fixture(scope="module")
def process():
    before = policy.select(Policy(isolate="always", hang_seconds=5.0))
    process = isolation.Process()
    yield process
    process.close()
    policy.select(before)


def remote(kernel, process):
    trial = Trial(ending.copy, kernel)
    trial.remote = Remote(trial, process=process)
    return trial


def test_the_calls_that_are_compiled_for_are_those_that_are_judged():
    trial = Trial(ending.copy, ending.correct)
    judged = []
    lane = LANES["launch"]
    drawn = precompile.calls(trial, lane, torch.float32, examples=20, seed=7)
    watched = case.dataclasses.replace(lane, check=lambda trial, call: judged.append(call) or [])
    before = policy.select(Policy(isolate="never"))
    case.run(trial, watched, torch.float32, examples=20, seed=7)
    policy.select(before)
    assert drawn == judged
    assert len(drawn) == 20


def test_shares_are_compiled_in_processes_of_their_own_and_one_that_ends_is_left_out(process):
    trial = remote(ending.leaves, process)
    drawn = precompile.calls(trial, LANES["launch"], torch.float32, examples=10, seed=0)
    counts = trial.remote.compile(drawn, 2)
    assert counts.compiles == 0
    assert Judge(trial, LANES["launch"], process=process)(drawn[0]) == []


def test_nothing_is_compiled_ahead_on_the_cpu(process):
    trial = remote(ending.correct, process)
    assert precompile.prepare(trial, LANES["launch"], torch.float32, examples=5, seed=0) is None


@pytest.mark.parametrize(("workers", "cores", "expected"), [("1", 16, 8), ("8", 16, 2), ("16", 16, 1), ("4", None, 1)])
def test_a_worker_compiles_on_its_part_of_the_cores(workers, cores, expected, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", workers)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert precompile.shares() == expected
