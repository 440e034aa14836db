"""Addition whose blocks overlap by one element, which two programs write with the same value."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_flat
from conformance.ops import vector_add


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    step = BLOCK if FIXED else BLOCK - 1
    i = tl.program_id(0) * step + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(COMPUTE)
    y = tl.load(y_ptr + i, mask=i < n).to(COMPUTE)
    tl.store(out_ptr + i, (x + y).to(out_ptr.dtype.element_ty), mask=i < n)


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=True)


fault = Fault(
    name="add_programs_overlap",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("races", "written"),
    klass="RACE",
    line="step = BLOCK if FIXED else BLOCK - 1",
    source="thunlp/TritonBench#10",
)
