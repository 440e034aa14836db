"""Softmax of half precision whose denominator is summed in half precision."""

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
    live = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=live, other=-float("inf")).to(COMPUTE)
    numerator = tl.exp(x - tl.max(x, axis=0))
    accumulator = COMPUTE if FIXED else x_ptr.dtype.element_ty
    total = tl.zeros((1,), accumulator)
    for j in range(columns):
        total += tl.sum(tl.where(column == j, numerator, 0.0), axis=0).to(accumulator)
    out = numerator / total.to(COMPUTE)
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=True)


fault = Fault(
    name="softmax_half_denominator",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy",),
    klass="ACC",
    line="accumulator = COMPUTE if FIXED",
    source="triton-lang/triton#1960",
    promises={"order": "any"},
)
