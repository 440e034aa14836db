from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from conformance.emulator import ArgumentError, LaunchError
from conformance.emulator.cupy_module import cupy_installed
from conformance.events import Kind
from conformance.observation import Observation, observe
from conformance.regions import Arena, Region, Role

SOURCE = 'extern "C" __global__ void f(float* y, float eps, long long n, int m) { y[0] = eps; y[1] = n; y[2] = m; }'
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="a real CuPy with a device stays in place")


@pytest.fixture
def cupy() -> Iterator[Any]:
    with cupy_installed():
        import cupy

        yield cupy


def test_launcher_that_imports_cupy_runs_unmodified(cupy: Any) -> None:
    y = torch.zeros(3)
    kernel = cupy.RawKernel(SOURCE, "f")
    kernel((1,), (1,), (cupy.from_dlpack(y), np.float32(0.5), np.int64(3), np.int32(4)))
    assert y.tolist() == [0.5, 3, 4]


def test_module_gives_functions_and_template_instances(cupy: Any) -> None:
    source = "template <typename T> __global__ void g(T* x) { x[threadIdx.x] = 2; }"
    module = cupy.RawModule(code=source, options=("-std=c++17",), name_expressions=["g<float>"])
    x = torch.zeros(4)
    module.get_function("g<float>")((1,), (4,), (cupy.asarray(x),))
    assert x.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((1e-5, np.int64(3), np.int32(4)), "8 bytes of a float, of which the kernel reads 4"),
        ((1, np.int64(3), np.int32(4)), "8 bytes of an integer"),
        ((np.float32(1), np.int32(3), np.int32(4)), "CuPy passes 4 bytes, the kernel reads 8"),
        ((np.float32(1), np.int64(3), 2**40), "the kernel reads the low 4 bytes, 0"),
        ((np.float32(1), 3.0, np.int32(4)), "the bits of a float as an integer"),
    ],
)
def test_argument_that_cupy_would_misread_is_reported(cupy: Any, args: Any, message: str) -> None:
    y = torch.zeros(3)
    kernel = cupy.RawKernel(SOURCE, "f")
    with pytest.raises(ArgumentError, match=message):
        kernel((1,), (1,), (cupy.asarray(y), *args))
    arena = Arena()
    arena.add(Region("y", y, Role.OUT, initialized=False))
    with observe(Observation(arena)) as seen:
        kernel((1,), (1,), (cupy.asarray(y), *args))
    assert [e.kind for e in seen.events] == [Kind.MISREAD]


def test_python_integers_pass_where_their_low_bytes_are_the_value(cupy: Any) -> None:
    y = torch.zeros(3)
    cupy.RawKernel(SOURCE, "f")((1,), (1,), (cupy.asarray(y), np.float32(0.5), 3, 4))
    assert y.tolist() == [0.5, 3, 4]


def test_pointer_may_be_a_plain_address(cupy: Any) -> None:
    y = torch.zeros(3)
    arena = Arena()
    arena.add(Region("y", y, Role.OUT, initialized=False))
    with observe(Observation(arena)) as seen:
        cupy.RawKernel(SOURCE, "f")((1,), (1,), (y.data_ptr(), np.float32(0.5), 3, 4))
    assert seen.events == []
    assert y.tolist() == [0.5, 3, 4]


def test_torch_tensor_is_no_argument_for_cupy(cupy: Any) -> None:
    with pytest.raises(ArgumentError, match="from_dlpack"):
        cupy.RawKernel(SOURCE, "f")((1,), (1,), (torch.zeros(3), np.float32(0.5), 3, 4))


def test_dynamic_shared_memory_beyond_48_kib_needs_the_attribute(cupy: Any) -> None:
    kernel = cupy.RawKernel('extern "C" __global__ void f(float* y) { extern __shared__ float s[]; y[0] = 1; }', "f")
    y = torch.zeros(1)
    with pytest.raises(LaunchError, match="49152 are allowed without"):
        kernel((1,), (1,), (cupy.asarray(y),), shared_mem=64 * 1024)
    kernel.max_dynamic_shared_size_bytes = 64 * 1024
    kernel((1,), (1,), (cupy.asarray(y),), shared_mem=64 * 1024)
    assert y[0] == 1


def test_stand_in_leaves_with_its_block() -> None:
    before = sys.modules.get("cupy")
    with cupy_installed():
        assert sys.modules["cupy"] is not before
    assert sys.modules.get("cupy") is before


CONSTANT = """
__constant__ float weights[4];
__device__ int launches = 0;
extern "C" __global__ void f(float* y) { y[threadIdx.x] = weights[threadIdx.x]; if (threadIdx.x == 0) launches++; }
"""


@pytest.mark.parametrize("checked", [True, False])
def test_constant_memory_is_written_from_the_host(cupy: Any, checked: bool) -> None:
    program = cupy.RawModule(code=CONSTANT)
    weights = cupy.ndarray((4,), cupy.float32, program.get_global("weights"))
    weights[...] = cupy.array([1, 2, 3, 4], dtype=cupy.float32)
    y = torch.zeros(4)
    arena = Arena()
    arena.add(Region("y", y, Role.OUT, initialized=False))
    with observe(Observation(arena, trace=checked)) as seen:
        program.get_function("f")((1,), (4,), (cupy.asarray(y),))
    assert seen.events == []
    assert y.tolist() == [1, 2, 3, 4]
    assert weights.get().tolist() == [1, 2, 3, 4]


def test_variable_that_is_not_there_is_named_with_those_there_are(cupy: Any) -> None:
    with pytest.raises(KeyError, match="has no variable 'bias'; it has launches, weights"):
        cupy.RawModule(code=CONSTANT).get_global("bias")


def test_launcher_may_take_torchs_stream_and_allocate_with_cupy(cupy: Any) -> None:
    out = cupy.empty((3,), dtype=cupy.float32)
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        cupy.RawKernel(SOURCE, "f")((1,), (1,), (out, np.float32(0.5), 3, 4))
    with cupy.cuda.Stream.from_external(torch.cuda.current_stream()) as stream:
        stream.synchronize()
    assert cupy.asnumpy(out).tolist() == [0.5, 3, 4]
    assert (out.shape, out.dtype, out.nbytes, len(out)) == ((3,), np.dtype("f4"), 12, 3)
    assert cupy.zeros_like(out).get().sum() == 0


def test_what_the_stand_in_lacks_is_named(cupy: Any) -> None:
    with pytest.raises(AttributeError, match=r"no cupy\.ElementwiseKernel: it has raw kernels"):
        cupy.ElementwiseKernel("float32 x", "float32 y", "y = x", "copy")
    with pytest.raises(AttributeError, match=r"no cupy\.cuda\.texture"):
        cupy.cuda.texture  # noqa: B018


def test_tensor_that_went_through_dlpack_is_the_one_that_is_known(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(tensor: torch.Tensor, name: str) -> None:
        pytest.fail(f"{name} is taken for another tensor: its shadow would be as large as its span")

    monkeypatch.setattr("conformance.emulator.launch.unknown", unknown)
    y = torch.zeros(8)[2:5]
    arena = Arena()
    arena.add(Region("y", y, Role.OUT, initialized=False))
    with observe(Observation(arena)) as seen:
        cupy.RawKernel(SOURCE, "f")((1,), (1,), (cupy.from_dlpack(y), np.float32(0.5), 3, 4))
    assert seen.events == []
    assert y.tolist() == [0.5, 3, 4]
