"""Row maximum by tl.max alone, which drops a NaN that torch keeps."""

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
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=-float("inf")).to(COMPUTE)
    out = tl.max(x, axis=0)
    if FIXED:
        out = tl.where(tl.max((x != x).to(tl.int32), axis=0) > 0, float("nan"), out)
    tl.store(out_ptr + row, out.to(out_ptr.dtype.element_ty))


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=False, reduce=True)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=True, reduce=True)


fault = Fault(
    name="amax_drops_nan",
    op=row_amax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("special_values",),
    klass="NAN",
    line="out = tl.max(x, axis=0)",
    source="triton-lang/triton#7349",
)
