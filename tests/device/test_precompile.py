from __future__ import annotations

import functools

import ending
import pytest
import torch

import kernels_triton
from conformance import case
from conformance.device import isolation, policy, precompile, watch
from conformance.device.judge import Judge, Remote
from conformance.device.policy import Policy
from conformance.lanes import LANES
from conformance.ops import matmul
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


def test_a_kernel_that_ends_the_process_while_it_compiles_is_judged_all_the_same(process):
    trial = remote(ending.leaves, process)
    drawn = precompile.calls(trial, LANES["launch"], torch.float32, examples=10, seed=0)
    assert Judge(trial, LANES["launch"], process=process).compile(drawn) == watch.Counts()
    assert Judge(trial, LANES["launch"], process=process)(drawn[0]) == []


def compiled(monkeypatch, trial, lane, examples):
    """The dry launches that compile what the lane's first calls launch: the settings of each, and its record."""
    made = []
    launch = trial.launch

    def keep(call, settings):
        made.append((settings, launch(call, settings)))
        return made[-1][1]

    monkeypatch.setattr(trial, "launch", keep)
    drawn = precompile.calls(trial, LANES[lane], torch.float32, examples=examples, seed=0)
    precompile.compile_calls(trial, LANES[lane], drawn)
    return made


@pytest.mark.parametrize("lane", sorted(set(LANES) - precompile.NOT_LAUNCHED - {"configs"}))
def test_a_lane_compiles_what_it_launches(lane, monkeypatch):
    made = compiled(monkeypatch, Trial(matmul, kernels_triton.matmul), lane, examples=3)
    assert [settings.dry for settings, _ in made] == [True] * 3


def test_configs_compiles_the_tuning_call_and_another_number_of_warps(monkeypatch):
    made = compiled(monkeypatch, Trial(matmul, kernels_triton.matmul), "configs", examples=2)
    assert [(s.dry, s.tune, len(s.compiler)) for s, _ in made] == [(True, True, 0), (True, False, 2)] * 2


def test_a_tuned_kernel_is_compiled_with_the_warps_of_its_configs_alone(monkeypatch):
    made = compiled(monkeypatch, Trial(matmul, functools.partial(kernels_triton.matmul, tune=True)), "configs", 5)
    assert {len(s.compiler) for s, done in made if done.geometry} == {0}
    assert any(done.configs > 1 for _, done in made)


@pytest.mark.parametrize("lane", ["refusals", "offsets"])
def test_lanes_whose_calls_are_not_launched_compile_nothing(lane, process, monkeypatch):
    trial = remote(ending.correct, process)
    judge = Judge(trial, LANES["launch"])
    monkeypatch.setattr("conformance.runtime.current", lambda: "gpu")
    assert precompile.prepare(judge, LANES[lane], torch.float32, examples=5, seed=0) is None
    assert not trial.compiled_for


def test_a_dtype_is_compiled_once_and_once_more_for_its_configs(process, monkeypatch):
    compiled = []
    trial = remote(ending.correct, process)
    judge = Judge(trial, LANES["launch"])
    monkeypatch.setattr("conformance.runtime.current", lambda: "gpu")
    monkeypatch.setattr(judge, "compile", lambda drawn: compiled.append(len(drawn)) or watch.Counts())
    for lane in ("launch", "layouts", "configs", "exact"):
        precompile.prepare(judge, LANES[lane], torch.float32, examples=3, seed=0)
    assert compiled == [3, 3]


def test_nothing_is_compiled_ahead_on_the_cpu(process, monkeypatch):
    monkeypatch.setattr("conformance.runtime.current", lambda: "interpret")
    trial = remote(ending.correct, process)
    precompile.prepare(Judge(trial, LANES["launch"]), LANES["launch"], torch.float32, examples=5, seed=0)
    assert not trial.compiled_for
