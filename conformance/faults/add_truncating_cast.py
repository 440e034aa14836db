"""Addition that truncates instead of rounding to half precision."""

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
    total = x + y
    if not FIXED and tl.float32 == COMPUTE:
        # the 13 bits of a float32 that float16 has no room for; for bfloat16 it loses bits that it would round by
        total = (total.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    tl.store(out_ptr + i, total.to(out_ptr.dtype.element_ty), mask=i < n)


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=True)


fault = Fault(
    name="add_truncating_cast",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "exact"),
    klass="DTYPE",
    line="& -8192",
    source="triton-lang/triton#11217",
)
