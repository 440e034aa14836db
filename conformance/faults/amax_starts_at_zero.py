"""Row maximum whose padded lanes hold 0: rows of negative values give 0."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_rows
from conformance.ops import row_amax


@triton.jit
def _kernel(x_ptr, out_ptr, columns, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    lowest = -float("inf") if FIXED else 0.0
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=lowest).to(COMPUTE)
    nan = tl.max((x != x).to(tl.int32), axis=0)
    out = tl.where(nan > 0, float("nan"), tl.max(x, axis=0))
    tl.store(out_ptr + row, out.to(out_ptr.dtype.element_ty))


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=False, reduce=True)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=True, reduce=True)


fault = Fault(
    name="amax_starts_at_zero",
    op=row_amax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "exact"),
    klass="PAD",
    line="if FIXED else 0.0",
    source="",
)
