from __future__ import annotations

import gc
import time

import ending
import pytest
import torch

from conformance import case, runtime
from conformance.device import fence, isolation, policy, watch
from conformance.device.judge import Judge
from conformance.device.policy import Policy
from conformance.faults.gpu import GPU_FAULTS
from conformance.lanes import LANES
from conformance.memory import place
from conformance.ops import vector_add
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


def test_placing_a_tensor_costs_well_under_a_fifth_of_a_millisecond():
    device = runtime.device()
    allocator = fence.Fence(fence.pool(device), "end")
    allocator(100, torch.float32, device)
    gc.collect()
    started = time.perf_counter()
    for _ in range(1000):
        allocator(100, torch.float32, device)
    each = (time.perf_counter() - started) / 1000
    print(f"fenced allocation: {each * 1e6:.1f} us")
    assert each < 2e-4


@pytest.mark.parametrize("dtype", DTYPES, ids=case.dtype_name)
@pytest.mark.parametrize(
    "name", ["gpu_read_past_end", "gpu_read_before_start", "gpu_write_past_end", "gpu_write_before_start"]
)
def test_one_element_too_far_is_found_at_either_end_in_any_dtype(name, dtype):
    fault = BY_NAME[name]
    outcome = case.run(Trial(fault.op, fault.kernel), LANES["launch"], dtype, examples=100, seed=0)
    assert {finding.oracle for finding in outcome.findings} & set(fault.oracles)


def test_a_lost_device_costs_less_than_two_seconds_and_the_next_call_is_judged():
    fault = BY_NAME["gpu_wild_pointer"]
    judge = Judge(Trial(fault.op, fault.kernel), LANES["launch"])
    call = _call(8, 8)
    for _ in range(3):
        judge(call)  # compiles, and brings workers into reserve
    started = time.perf_counter()
    (objection,) = judge(call)
    seconds = time.perf_counter() - started
    print(f"a call that loses the device: {seconds:.2f} s")
    assert objection.failure.oracle == "bounds"
    assert seconds < 2
    assert Judge(Trial(fault.op, fault.fixed), LANES["launch"])(call) == []


def test_isolation_adds_less_than_a_millisecond_to_a_call():
    from kernels_triton.vector_add import vector_add as kernel

    trial, call = Trial(vector_add, kernel), _call(8, 8)
    isolated = Judge(trial, LANES["launch"])
    policy.select(Policy(isolate="never"))
    here = Judge(Trial(vector_add, kernel), LANES["launch"])
    policy.select(Policy(isolate="always", hang_seconds=10.0))
    for judge in (isolated, here):
        judge(call)
        judge(call)
    times = []
    for judge in (isolated, here):
        started = time.perf_counter()
        for _ in range(100):
            assert judge(call) == []
        times.append((time.perf_counter() - started) / 100)
    print(f"isolated {times[0] * 1e3:.2f} ms a call, in this process {times[1] * 1e3:.2f} ms")
    assert times[0] - times[1] < 1e-3


def test_compiling_and_the_specialization_classes_are_counted():
    from kernels_triton.vector_add import vector_add as kernel

    before = watch.totals().copy()
    outcome = case.run(Trial(vector_add, kernel), LANES["launch"], torch.float32, examples=40, seed=3)
    counts = watch.totals().since(before)
    print(f"compiling {counts.compile_seconds:.2f} s ({counts.compiles}), launching {counts.launch_seconds:.2f} s")
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
