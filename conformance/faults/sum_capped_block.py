"""Row sum over one block, capped at 4096 columns: what lies beyond is left out."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_rows
from conformance.ops import row_sum


@triton.jit
def _kernel(x_ptr, out_ptr, columns, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    total = tl.zeros((1,), COMPUTE)
    end = columns if FIXED else tl.minimum(columns, BLOCK)
    for start in range(0, end, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=0.0)
        total += tl.sum(x.to(COMPUTE), axis=0)
    tl.store(out_ptr + row + tl.arange(0, 1), total.to(out_ptr.dtype.element_ty))


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    block = min(triton.next_power_of_2(max(x.shape[1], 1)), 4096)
    return launch_rows(_kernel, x, fixed=fixed, block=block, reduce=True)


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="sum_capped_block",
    op=row_sum,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "exact"),
    klass="SIZE",
    line="tl.minimum(columns, BLOCK)",
)
