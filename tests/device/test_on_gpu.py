from __future__ import annotations

import ending
import pytest
import strided
import torch

from conformance import case, runtime
from conformance.device import fence, isolation, policy, precompile, watch
from conformance.device.judge import Judge
from conformance.device.policy import Policy
from conformance.faults.gpu import GPU_FAULTS
from conformance.lanes import LANES
from conformance.memory import place
from conformance.ops import vector_add
from conformance.promises import Promises
from conformance.regions import Arena, Role
from conformance.trial import Trial

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(runtime.current() != "gpu", reason="torch sees no CUDA device, or kernels are interpreted"),
]

BY_NAME = {fault.name: fault for fault in GPU_FAULTS}
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.fixture(scope="module", autouse=True)
def _isolated():
    before = policy.select(Policy(isolate="always", hang_seconds=10.0))
    yield
    policy.select(before)
    isolation.process().close()


def test_the_fence_is_available():
    assert fence.unavailable(runtime.device()) is None


@pytest.mark.parametrize("side", ["start", "end"])
@pytest.mark.parametrize("dtype", DTYPES, ids=case.dtype_name)
def test_a_placed_tensor_holds_its_values_and_touches_the_page(side, dtype):
    device = runtime.device()
    pool = fence.pool(device)
    values = torch.arange(35).reshape(5, 7).to(dtype)
    allocator = fence.Fence(pool, side, unaligned=True)
    item = place("x", values, (7, 1), 0, role=Role.IN, arena=Arena(), device=device, allocator=allocator)
    assert torch.equal(item.tensor.cpu(), values)
    assert item.changed() is None
    edge = item.tensor.data_ptr() + (item.tensor.numel() * item.tensor.element_size() if side == "end" else 0)
    assert edge % pool.pages.granularity == 0


@pytest.mark.parametrize("dtype", DTYPES, ids=case.dtype_name)
@pytest.mark.parametrize(
    "name", ["gpu_read_past_end", "gpu_read_before_start", "gpu_write_past_end", "gpu_write_before_start"]
)
def test_one_element_too_far_is_found_at_either_end_in_any_dtype(name, dtype):
    fault = BY_NAME[name]
    outcome = case.run(Trial(fault.op, fault.kernel), LANES["launch"], dtype, examples=100, seed=0, stop_at_first=True)
    assert {finding.oracle for finding in outcome.findings} & set(fault.oracles)


@pytest.mark.parametrize("layout", ["contiguous", "padded"])
@pytest.mark.parametrize("dtype", DTYPES, ids=case.dtype_name)
@pytest.mark.parametrize("kernel", strided.FAULTY, ids=lambda kernel: kernel.__name__)
def test_one_element_too_far_in_a_row_is_found_in_contiguous_and_in_padded_tensors(kernel, dtype, layout):
    promises = Promises(layouts=(layout,))
    trial = Trial(strided.copy, kernel, promises)
    outcome = case.run(trial, LANES["launch"], dtype, examples=100, seed=0, stop_at_first=True)
    assert {finding.oracle for finding in outcome.findings} & {"bounds", "inputs_kept", "written", "accuracy"}


@pytest.mark.parametrize("layout", ["contiguous", "padded"])
@pytest.mark.parametrize("dtype", DTYPES, ids=case.dtype_name)
def test_a_kernel_that_keeps_to_its_rows_is_not_objected_to(dtype, layout):
    promises = Promises(layouts=(layout,))
    outcome = case.run(Trial(strided.copy, strided.right, promises), LANES["launch"], dtype, examples=100, seed=0)
    assert not outcome.findings


def test_a_lost_device_costs_its_call_alone():
    fault = BY_NAME["gpu_wild_pointer"]
    call = _call(8, 8)
    for _ in range(3):
        (objection,) = Judge(Trial(fault.op, fault.kernel), LANES["launch"])(call)
        assert objection.failure.oracle == "bounds"
    assert Judge(Trial(fault.op, fault.fixed), LANES["launch"])(call) == []


def test_a_kernel_that_races_in_some_number_of_warps_is_objected_to_by_configs():
    found = case.run(
        Trial(strided.copy, strided.wrong_in_many_warps), LANES["configs"], torch.float32, examples=60, seed=0
    )
    assert [finding.oracle for finding in found.findings] == ["configs"]
    assert "num_warps=" in found.findings[0].summary


def test_a_grid_that_no_device_launches_is_objected_to_without_a_launch():
    from conformance.faults import add_rows_on_grid_y

    fault = add_rows_on_grid_y.fault
    found = case.run(Trial(fault.op, fault.kernel), LANES["offsets"], torch.float32, examples=20, seed=0)
    assert [finding.oracle for finding in found.findings] == ["offsets"]
    assert not case.run(Trial(fault.op, fault.fixed), LANES["offsets"], torch.float32, examples=20, seed=0).findings


def test_what_is_compiled_ahead_is_not_compiled_again_in_the_calls():
    from kernels_triton.vector_add import vector_add as kernel

    trial, lane = Trial(vector_add, kernel), LANES["launch"]
    policy.select(Policy(isolate="never"))
    judge = Judge(trial, lane)
    precompile.prepare(judge, lane, torch.bfloat16, examples=30, seed=case.seed_of(trial.op, torch.bfloat16, 5))
    prepared = watch.totals().copy()
    case.run(trial, lane, torch.bfloat16, examples=30, seed=5)
    policy.select(Policy(isolate="always", hang_seconds=10.0))
    counts = watch.totals().since(prepared)
    assert counts.launches >= 20
    assert counts.compiles == 0


def test_compiling_and_the_specialization_classes_are_counted():
    from kernels_triton.vector_add import vector_add as kernel

    before = watch.totals().copy()
    outcome = case.run(Trial(vector_add, kernel), LANES["launch"], torch.float32, examples=40, seed=3)
    counts = watch.totals().since(before)
    assert not outcome.findings
    assert counts.launches >= 30
    assert outcome.result.coverage["specialization"]


def test_a_kernel_that_ends_its_process_is_objected_to_on_a_gpu_too():
    judge = Judge(Trial(ending.copy, ending.leaves), LANES["launch"])
    assert judge(_copied(3)) == []
    (objection,) = judge(_copied(9))
    assert "exit code 3" in objection.summary
    assert judge(_copied(3)) == []


def _call(rows, columns):
    from strategies import Call, TensorDescription

    tensor = TensorDescription((rows, columns), torch.float32)
    return Call((("x", tensor), ("y", tensor)), (("rows", rows), ("cols", columns)))


def _copied(n):
    from strategies import Call, TensorDescription

    return Call((("x", TensorDescription((n,), torch.float32)),), (("n", n),))
