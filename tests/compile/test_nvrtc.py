from __future__ import annotations

import pytest

from conformance.compile import ARCHITECTURES, CompilerMissingError, compile_cuda
from conformance.compile.nvrtc import missing, resources
from conformance.emulator import CompileError

ADD = 'extern "C" __global__ void add(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] += x[0]; }'
ABSENT = missing()
needs_nvrtc = pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)}")


def test_log_of_ptxas_gives_the_resources_of_each_kernel() -> None:
    log = (
        "ptxas info : Compiling entry function 'f' for 'sm_80'\nptxas info : Function properties for f\n"
        "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info : Used 32 registers, used 1 barriers, 1024 bytes smem, 372 bytes cmem[0]\n"
        "ptxas info : Compiling entry function 'g' for 'sm_80'\n    0 bytes stack frame, 0 bytes spill stores, "
        "0 bytes spill loads\nptxas info : Used 9 registers, 372 bytes cmem[0]\n"
    )
    assert [(r.kernel, r.registers, r.stack, r.spilled, r.shared) for r in resources(log)] == [
        ("f", 32, 16, 12, 1024),
        ("g", 9, 0, 0, 0),
    ]


@pytest.mark.skipif(not ABSENT, reason="NVRTC is installed here")
def test_missing_compiler_is_named() -> None:
    with pytest.raises(CompilerMissingError, match="pip install"):
        compile_cuda(ADD)


@needs_nvrtc
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernel_compiles_without_a_device(architecture: str) -> None:
    built = compile_cuda(ADD, architecture)
    assert built.cubin
    assert [r.kernel for r in built.resources] == ["add"]
    assert built.resources[0].spilled == 0


@needs_nvrtc
def test_standard_header_is_refused_as_on_a_gpu() -> None:
    with pytest.raises(CompileError, match="cmath"):
        compile_cuda("#include <cmath>\n" + ADD)
