"""Online softmax that does not rescale its sum when a later block has a larger maximum."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_rows
from conformance.ops import softmax


@triton.jit
def _kernel(x_ptr, out_ptr, columns, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    top = tl.full((1,), -float("inf"), COMPUTE)
    total = tl.zeros((1,), COMPUTE)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=-float("inf"))
        x = x.to(COMPUTE)
        new_top = tl.maximum(top, tl.max(x, axis=0))
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)
        rescale = tl.exp(top - shift) if FIXED else 1.0
        total = total * rescale + tl.sum(tl.exp(x - shift), axis=0)
        top = new_top
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=-float("inf"))
        out = tl.exp(x.to(COMPUTE) - top) / total
        tl.store(
            out_ptr + row * columns + start + column, out.to(out_ptr.dtype.element_ty), mask=column < columns - start
        )


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=False, block=16)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=True, block=16)


fault = Fault(
    name="softmax_online_no_rescale",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="LOGIC",
    line="tl.exp(top - shift) if FIXED else 1.0",
    source="",
)
