from __future__ import annotations

import pathlib
import sys

import pytest
import strided
import torch

from conformance import case, lanes
from conformance.device import isolation, policy
from conformance.device.judge import Judge, Remote
from conformance.device.policy import Policy
from conformance.faults.gpu import GPU_FAULTS
from conformance.promises import Promises
from conformance.trial import Trial
from strategies import Call, TensorDescription, Values

# what our interpreter and emulator see of them too; the others need a device or end the process
ON_THE_CPU = {
    "gpu_read_past_end",
    "gpu_read_before_start",
    "gpu_write_past_end",
    "gpu_write_before_start",
    "gpu_wild_pointer",
    "gpu_device_assert",
}


@pytest.mark.parametrize("fault", GPU_FAULTS, ids=lambda f: f.name)
def test_a_fault_names_a_line_of_its_own_file(fault):
    source = pathlib.Path(sys.modules[fault.kernel.__module__].__file__).read_text()
    assert fault.line in source
    assert fault.runtime == "gpu"


@pytest.mark.parametrize("fault", [f for f in GPU_FAULTS if f.name in ON_THE_CPU], ids=lambda f: f.name)
def test_a_fault_of_memory_is_seen_by_the_interpreter_too_and_its_fixed_twin_is_not_objected_to(fault):
    outcome = case.run(Trial(fault.op, fault.kernel), lanes.LANES["launch"], torch.float32, examples=60, seed=0)
    assert {f.oracle for f in outcome.findings} & set(fault.oracles)
    assert not case.run(
        Trial(fault.op, fault.fixed), lanes.LANES["launch"], torch.float32, examples=30, seed=0
    ).findings


def test_a_segmentation_fault_of_the_launcher_is_found_once_and_shrunk():
    fault = next(f for f in GPU_FAULTS if f.name == "gpu_host_segfault")
    before = policy.select(Policy(isolate="always", hang_seconds=20))
    process = isolation.Process()
    try:
        trial = Trial(fault.op, fault.kernel)
        trial.remote = Remote(trial, process=process)
        (finding,) = case.run(trial, lanes.LANES["launch"], torch.float32, examples=60, seed=0).findings
    finally:
        process.close()
        policy.select(before)
    assert finding.oracle == "crash"
    shape = Call.from_json(finding.call).tensors["x"].shape
    assert 64 < shape[0] * shape[1] < 300


def test_faults_of_a_lane_with_a_law_of_its_own_are_objections_of_that_lane():
    fault = next(f for f in GPU_FAULTS if f.name == "gpu_host_segfault")
    before = policy.select(Policy(isolate="always", hang_seconds=20))
    process = isolation.Process()
    try:
        judge = Judge(Trial(fault.op, fault.kernel), lanes.LANES["configs"], process=process)
        large = TensorDescription((9, 9), torch.float32, values=Values("ones"))
        (objection,) = judge(Call((("x", large), ("y", large)), (("rows", 9), ("cols", 9))))
    finally:
        process.close()
        policy.select(before)
    assert objection.failure.oracle == "configs"


@pytest.mark.parametrize("layout", ["contiguous", "padded"])
@pytest.mark.parametrize("kernel", strided.FAULTY, ids=lambda kernel: kernel.__name__)
def test_a_step_beside_a_row_is_seen_by_the_interpreter_too(kernel, layout):
    trial = Trial(strided.copy, kernel, Promises(layouts=(layout,)))
    assert case.run(trial, lanes.LANES["launch"], torch.float32, examples=40, seed=0).findings
    right = Trial(strided.copy, strided.right, Promises(layouts=(layout,)))
    assert not case.run(right, lanes.LANES["launch"], torch.float32, examples=40, seed=0).findings
