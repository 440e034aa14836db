"""Addition of float64 rounded to float32 on its way; the narrower dtypes do not feel it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_flat
from conformance.ops import vector_add


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(COMPUTE)
    y = tl.load(y_ptr + i, mask=i < n).to(COMPUTE)
    total = (x + y).to(COMPUTE if FIXED else tl.float32)
    tl.store(out_ptr + i, total.to(out_ptr.dtype.element_ty), mask=i < n)


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=True)


fault = Fault(
    name="add_double_rounding",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="DTYPE",
    line="to(COMPUTE if FIXED else tl.float32)",
    source="linkedin/Liger-Kernel#1350",
)
