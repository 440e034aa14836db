"""Addition that passes its operands through float16."""

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
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    narrow = COMPUTE if FIXED else tl.float16
    total = x.to(narrow).to(COMPUTE) + y.to(narrow).to(COMPUTE)
    tl.store(out_ptr + i, total.to(out_ptr.dtype.element_ty), mask=i < n)


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=True)


fault = Fault(
    name="add_through_half",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="DTYPE",
    line="narrow = COMPUTE if FIXED else tl.float16",
    source="flagos-ai/FlagGems#2624",
)
