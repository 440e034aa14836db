"""Row sum that adds block after block in the dtype of its input."""

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
    accumulator = COMPUTE if FIXED else x_ptr.dtype.element_ty
    total = tl.zeros((1,), accumulator)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=0.0).to(COMPUTE)
        total += tl.sum(x, axis=0).to(accumulator)
    tl.store(out_ptr + row + tl.arange(0, 1), total.to(out_ptr.dtype.element_ty))


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=False, block=16, reduce=True)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=True, block=16, reduce=True)


fault = Fault(
    name="sum_half_accumulator",
    op=row_sum,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "exact"),
    klass="ACC",
    line="accumulator = COMPUTE if FIXED",
    source="meta-pytorch/torchrec#3730",
)
