from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.emulator import ArgumentError, Backend, CompileError, KernelError, LaunchError, unwritten
from conformance.events import Kind
from conformance.observation import Observation, observe
from conformance.regions import Arena, Region, Role

SCALE = 'extern "C" __global__ void scale(const float* x, float* out, int n, float a) {'
SCALE += " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = a * x[i]; }"
HARM = r"""
extern "C" __global__ void poke(float* out, long long at) { out[at] = 1; }
extern "C" __global__ void spin(volatile float* out) { while (out[0] == 0) {} }
extern "C" __global__ void smash(char* out, long long n) { for (long long i = -n; i < n; i++) out[i] = (char)i; }
extern "C" __global__ void give_up(float* out) { assert(out[0] > 0); }
"""


@pytest.fixture(scope="module")
def backend() -> Backend:
    return Backend("always", seconds=1.0)


def region(tensor: torch.Tensor, role: Role = Role.INOUT) -> Arena:
    arena = Arena()
    arena.add(Region("x", tensor, role, initialized=role is not Role.OUT))
    return arena


@pytest.mark.parametrize("isolation", ["always", "untrusted", "never"])
def test_unobserved_launch_computes_what_the_kernel_says(isolation: Any) -> None:
    backend = Backend(isolation)
    handle = backend.compile(SCALE)
    x, out = torch.arange(300.0), torch.zeros(300)
    backend.launch(handle, "scale", (3,), (128,), (x, out, 300, 2.5))
    assert torch.equal(out, 2.5 * x)


def test_geometry_is_recorded_and_a_dry_launch_runs_nothing(backend: Backend) -> None:
    x, out = torch.ones(4), torch.zeros(4)
    with observe(Observation(Arena(), dry=True)) as seen:
        backend.launch(backend.compile(SCALE), "scale", (1, 1, 1), (32, 1, 1), (x, out, 4, 2.0))
    assert (seen.geometry[0].kernel, seen.geometry[0].grid, seen.geometry[0].block) == ("scale", (1, 1, 1), (32, 1, 1))
    assert out.sum() == 0


@pytest.mark.parametrize(
    ("grid", "block", "shared", "message"),
    [
        ((1, 70000, 1), (32, 1, 1), 0, "y = 70000 is outside 1..65535"),
        ((0, 1, 1), (32, 1, 1), 0, "x = 0 is outside"),
        ((1, 1, 1), (64, 32, 1), 0, "2048 threads"),
        ((1, 1, 1), (1, 1, 65), 0, "z = 65 is outside 1..64"),
        ((1, 1, 1), (32, 1, 1), 300_000, "300000 bytes of dynamic shared memory"),
    ],
)
def test_configuration_that_cuda_refuses_is_refused(
    backend: Backend, grid: Any, block: Any, shared: int, message: str
) -> None:
    with pytest.raises(LaunchError, match=message):
        backend.launch(backend.compile(SCALE), "scale", grid, block, (torch.ones(1), torch.ones(1), 1, 1.0), shared)


def test_grid_beyond_the_limit_is_an_event_too(backend: Backend) -> None:
    with observe(Observation(Arena())) as seen, pytest.raises(LaunchError):
        backend.launch(backend.compile(SCALE), "scale", (1, 65536, 1), 32, (torch.ones(1), torch.ones(1), 1, 1.0))
    assert [e.kind for e in seen.events] == [Kind.GRID_LIMIT]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((1, 2, 3, 4.0), r"`const float\* x` is a pointer, but 1 \(int\)"),
        ((torch.ones(1), torch.ones(1).double(), 1, 1.0), r"`float\* out` points to float, but the tensor holds"),
        ((torch.ones(1), torch.ones(1), 1.5, 1.0), "`int n` is an integer, but 1.5"),
        ((torch.ones(1), torch.ones(1), 2**31, 1.0), "2147483648 does not fit parameter `int n`"),
        ((torch.ones(1), torch.ones(1), torch.ones(1), 1.0), "`int n` is no pointer"),
        ((torch.ones(1),), "takes 4 arguments, got 1"),
    ],
)
def test_argument_that_does_not_fit_is_refused_by_name(backend: Backend, args: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        backend.launch(backend.compile(SCALE), "scale", 1, 32, args)


def test_text_that_does_not_compile_says_why(backend: Backend) -> None:
    handle = backend.compile('extern "C" __global__ void f(float* x) { x[0] = nonsense; }')
    with pytest.raises(CompileError, match="nonsense"):
        backend.launch(handle, "f", 1, 1, (torch.zeros(1),))


def test_text_without_a_callable_kernel_is_refused(backend: Backend) -> None:
    with pytest.raises(CompileError, match='extern "C"'):
        backend.compile("__global__ void f(float* x) { x[0] = 1; }")


def test_template_instance_is_called_by_its_expression(backend: Backend) -> None:
    source = "template <typename T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }"
    handle = backend.compile(source, names=("fill<float>",))
    x = torch.zeros(32)
    backend.launch(handle, "fill<float>", 1, 32, (x, 3.0))
    assert (x == 3).all()


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("poke", (2**45,), "crash: poke at source given as a string:2"),
        ("spin", (), "hang: spin at source given as a string:3"),
        ("give_up", (), "device assert: give_up at source given as a string:5"),
    ],
)
@pytest.mark.parametrize("isolation", ["always", "never"])
def test_unobserved_harm_is_an_error_and_not_the_end(isolation: Any, name: str, args: Any, message: str) -> None:
    backend = Backend(isolation, seconds=0.5)
    with pytest.raises(KernelError, match=message):
        backend.launch(backend.compile(HARM), name, 1, 1, (torch.zeros(4), *args))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("way", ["always", "never", "checked"])
def test_a_signal_that_is_handled_ends_a_launch_that_does_not_end(way: Any, number: int) -> None:
    backend = Backend("never" if way == "checked" else way)
    handle = backend.compile(HARM)
    out = torch.zeros(4)
    before = signal.signal(number, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), number))
    with observe(Observation(region(out), trace=way == "checked")) as seen:
        handle.program(checked=way == "checked").library("spin")  # compiled before the time runs
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                backend.launch(handle, "spin", 1, 1, (out,))
            timer.join()
            assert signal.getsignal(number) is signal.default_int_handler
        finally:
            signal.signal(number, before)
        backend.launch(handle, "poke", 1, 1, (out, 2))
    assert out.tolist() == [0, 0, 1, 0]
    assert seen.events == []


def test_smashed_memory_stays_in_the_child_process(backend: Backend) -> None:
    victim = torch.zeros(64, dtype=torch.uint8)
    with pytest.raises(KernelError):
        backend.launch(backend.compile(HARM), "smash", 1, 1, (victim, 1 << 30))
    assert victim.sum() == 0


def test_kernel_is_trusted_after_a_clean_checked_launch() -> None:
    backend = Backend("untrusted")
    handle = backend.compile(SCALE)
    args = (torch.ones(8), torch.zeros(8), 8, 2.0)
    with observe(Observation(Arena())) as seen:
        backend.launch(handle, "scale", 1, 32, args)
    assert seen.events == []
    assert (handle, "scale") in backend._trusted


def test_written_state_lives_from_launch_to_launch(run_cuda: Callable[..., Any]) -> None:
    source = 'extern "C" __global__ void first(float* x) { if (threadIdx.x < 8) x[threadIdx.x] = 1; }\n'
    source += 'extern "C" __global__ void second(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }'
    x = torch.zeros(16)
    arena = region(x, Role.OUT)
    run_cuda(source, (x,), (), name="first", into=arena)
    assert unwritten(next(iter(arena))) == (8, (8,))
    assert run_cuda(source, (x, 8), (), name="second", into=arena).events == []
    assert run_cuda(source, (x, 9), (), name="second", into=arena).kinds == {Kind.UNINITIALIZED_READ}


def test_gap_between_the_rows_of_a_view_is_no_element(run_cuda: Callable[..., Any]) -> None:
    source = 'extern "C" __global__ void f(const float* x, float* y, int n, int stride) {'
    source += " for (int i = threadIdx.x; i < n; i += 64) y[blockIdx.x * stride + i] = x[blockIdx.x * stride + i]; }"
    x, y = torch.ones(4, 20)[:, :16], torch.zeros(4, 20)[:, :16]
    seen = run_cuda(source, (x, y, 17, 20), ("in", "out"), grid=3)
    assert seen.kinds == {Kind.GAP_READ, Kind.GAP_WRITE}
    assert run_cuda(source, (x, y, 16, 20), ("in", "out"), grid=4).events == []
    beyond = run_cuda(source, (x, y, 17, 20), ("in", "out"), grid=4)  # behind the last row there is no gap
    assert {Kind.OUT_OF_BOUNDS_READ, Kind.OUT_OF_BOUNDS_WRITE} <= beyond.kinds


def test_index_of_an_event_is_logical(run_cuda: Callable[..., Any]) -> None:
    source = 'extern "C" __global__ void f(float* x, int at) { x[at] = 1; }'
    x = torch.zeros(6, 5).t()
    seen = run_cuda(source, (x, 3 * 5 + 2), ("in",), block=1)
    assert [(e.kind, e.index, e.argument) for e in seen.events] == [(Kind.INPUT_WRITE, (2, 3), "arg0")]


def test_threads_that_write_one_value_do_no_harm_but_other_values_race(run_cuda: Callable[..., Any]) -> None:
    source = 'extern "C" __global__ void f(float* x, int step) { __shared__ int s; s = 7 + step * threadIdx.x;'
    source += " __syncthreads(); x[threadIdx.x] = s; }"
    x = torch.zeros(64)
    assert run_cuda(source, (x, 0), ("out",)).events == []
    assert run_cuda(source, (x, 1), ("out",)).kinds == {Kind.DATA_RACE}


def test_blocks_that_write_one_element_conflict_whatever_they_write(run_cuda: Callable[..., Any]) -> None:
    source = 'extern "C" __global__ void f(float* x) { x[threadIdx.x] = 1; }'
    seen = run_cuda(source, (torch.zeros(64),), ("out",), grid=2)
    assert seen.kinds == {Kind.WRITE_CONFLICT}


def test_float_atomics_are_noted_and_integer_atomics_are_not(run_cuda: Callable[..., Any]) -> None:
    for kind, dtype, noted in (("float", torch.float32, True), ("int", torch.int32, False)):
        source = f'extern "C" __global__ void f({kind}* x) {{ atomicAdd(x, ({kind})1); }}'
        seen = run_cuda(source, (torch.zeros(1, dtype=dtype),), ("inout",))
        assert seen.observation.float_atomics is noted


def test_a_compare_and_swap_is_noted_since_floats_may_be_added_up_by_it(run_cuda: Callable[..., Any]) -> None:
    source = 'extern "C" __global__ void f(int* x) { atomicCAS(x, 0, 1); }'
    seen = run_cuda(source, (torch.zeros(1, dtype=torch.int32),), ("inout",))
    assert seen.observation.float_atomics


def test_offset_of_a_huge_lazily_committed_view_is_exact(run_cuda: Callable[..., Any]) -> None:
    source = 'extern "C" __global__ void f(float* x, long long stride) { x[blockIdx.x * stride + threadIdx.x] = 1; }'
    storage = torch.empty(3 * 2**28, dtype=torch.float32)  # 3 GiB of address space, of which four pages are touched
    view = storage.as_strided((3, 4), (2**28, 1))
    assert run_cuda(source, (view, 2**28), ("out",), grid=3, block=4).events == []
    assert run_cuda(source, (view, 2**28 - 1), ("out",), grid=3, block=4).kinds == {Kind.GAP_WRITE}
