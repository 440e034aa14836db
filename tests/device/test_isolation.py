from __future__ import annotations

import os
import signal
import time

import ending
import pytest
import torch

from conformance import OpError, case, lanes
from conformance.device import isolation, policy
from conformance.device.address import NotImportable
from conformance.device.judge import Judge, Remote
from conformance.device.policy import Policy
from conformance.device.verdicts import encode_objection
from conformance.events import Kind
from conformance.failures import AccuracyFailure, CrashFailure
from conformance.trial import Trial
from strategies import Call, TensorDescription

SMALL = Call((("x", TensorDescription((3,), torch.float32)),), (("n", 3),))
LARGE = Call((("x", TensorDescription((9,), torch.float32)),), (("n", 9),))


@pytest.fixture(scope="module")
def process():
    process = isolation.Process()
    yield process
    process.close()


@pytest.fixture(autouse=True)
def _isolated():
    before = policy.select(Policy(isolate="always", hang_seconds=2.0))
    yield
    policy.select(before)


def judge(kernel, process, lane="launch", op=ending.copy):
    return Judge(Trial(op, kernel), lanes.LANES[lane], process=process)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (ending.segfault, "SIGSEGV"),
        (ending.leaves, "exit code 3"),
        (ending.is_killed, "SIGKILL"),
        (ending.garbles, "file descriptor"),
        (ending.closes_everything, "the process"),
        (ending.leaves_a_grandchild, "exit code 4"),
    ],
)
def test_a_kernel_that_ends_its_process_is_objected_to_and_the_next_call_is_judged(kernel, words, process):
    judged = judge(kernel, process)
    assert judged(SMALL) == []
    (objection,) = judged(LARGE)
    assert objection.failure is CrashFailure
    assert objection.events[0].kind is Kind.CRASH
    assert words in objection.summary
    assert judged(SMALL) == []


@pytest.mark.parametrize("kernel", [ending.loops, ending.sleeps_with_the_lock])
def test_a_kernel_that_does_not_end_is_ended_with_a_python_stack(kernel, process):
    judged = judge(kernel, process)
    assert judged(SMALL) == []
    started = time.monotonic()
    (objection,) = judged(LARGE)
    assert time.monotonic() - started < 10
    assert objection.events[0].kind is Kind.HANG
    assert any(kernel.__name__ in note for note in objection.notes)
    assert judged(SMALL) == []


def test_the_cost_of_calls_counts_the_wait_for_one_that_hangs(process):
    judged = judge(ending.loops, process)
    assert judged(SMALL) == []
    before, computed = judged.clock(), time.process_time()
    judged(LARGE)
    assert judged.clock() - before >= policy.current().hang_seconds
    assert time.process_time() - computed < policy.current().hang_seconds


def test_a_segmentation_fault_leaves_the_python_stack_as_a_note(process):
    (objection,) = judge(ending.segfault, process)(LARGE)
    assert any("in segfault" in note for note in objection.notes)


def test_what_a_kernel_prints_neither_blocks_nor_garbles(process):
    assert judge(ending.prints, process)(LARGE) == []


@pytest.mark.parametrize(("kernel", "words"), [(ending.raises, "of my own"), (ending.exits, "enough")])
def test_what_a_kernel_raises_is_objected_to_without_a_new_process(kernel, words, process):
    before = process.replaced
    (objection,) = judge(kernel, process)(LARGE)
    assert words in objection.summary
    assert process.replaced == before


def test_an_objection_comes_back_as_it_is_made_in_this_process(process):
    trial = Trial(ending.copy, ending.wrong)
    there = Judge(trial, lanes.LANES["launch"], process=process)(LARGE)
    here = lanes.LANES["launch"].check(Trial(ending.copy, ending.wrong), LARGE)
    assert [encode_objection(each) for each in there] == [encode_objection(each) for each in here]
    assert there[0].failure is AccuracyFailure
    assert trial.tightness.points


def test_an_op_that_is_wrong_itself_raises_in_this_process(process):
    with pytest.raises(OpError, match="no reference today"):
        judge(ending.correct, process, op=ending.broken_op)(LARGE)


def test_lanes_that_compare_launches_leave_faults_to_the_others_and_give_up(process):
    judged = judge(ending.leaves, process, lane="determinism")
    before = process.replaced
    assert [judged(LARGE) for _ in range(6)] == [[]] * 6
    assert process.replaced - before == 3


def test_a_crash_is_shrunk_and_the_other_findings_are_kept(process):
    trial = Trial(ending.copy, ending.segfault)
    trial.remote = Remote(trial, process=process)
    outcome = case.run(trial, lanes.LANES["launch"], torch.float32, examples=20, seed=0)
    (finding,) = outcome.findings
    assert finding.oracle == "crash"
    assert Call.from_json(finding.call).tensors["x"].shape == (5,)
    assert outcome.result.examples > 1


def test_a_worker_that_the_system_ended_between_two_calls_is_no_fault_of_the_kernel(process):
    judged = judge(ending.correct, process)
    assert judged(SMALL) == []
    os.kill(process._worker.pid, signal.SIGKILL)
    time.sleep(0.2)
    assert judged(SMALL) == []


def test_children_end_when_they_are_closed(process):
    own = isolation.Process()
    judge(ending.correct, own)(SMALL)
    pids = [own._worker.pid, own._reserves[0].pid, own._nursery.pid]
    own.close()
    deadline = time.monotonic() + 10
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in pids)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_kernel_without_a_name_cannot_be_isolated_and_says_what_to_do(process):
    with pytest.raises(NotImportable, match="top level of a module"):
        judge(lambda x: x.clone(), process)


def test_a_kernel_without_a_name_is_judged_here_where_isolation_was_not_asked_for(process, monkeypatch):
    policy.select(Policy(isolate="auto"))
    monkeypatch.setattr("conformance.device.judge._mode", lambda: "always")
    with pytest.warns(UserWarning, match="judged in this process"):
        judged = judge(lambda x: x.clone(), process)
    assert judged(LARGE) == []


def test_a_lost_device_moves_every_trial_to_child_processes(process, monkeypatch):
    policy.select(Policy(isolate="fault"))
    monkeypatch.setattr("conformance.device.judge._device_lost", [False])
    judged = judge(ending.wrong, process)
    with monkeypatch.context() as patch:
        patch.setattr("conformance.device.judge.lost_device", lambda: "an illegal memory access was encountered")
        (objection,) = judged(LARGE)
    assert objection.failure is AccuracyFailure
    assert judged.trial.remote is not None
    other = judge(ending.correct, process)
    assert other.trial.remote is not None
