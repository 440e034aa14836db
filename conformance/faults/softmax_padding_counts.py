"""Softmax whose padded lanes hold 0 and so count in the maximum and the sum."""

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
    x = tl.load(x_ptr + row * columns + column, mask=live, other=-float("inf") if FIXED else 0.0).to(COMPUTE)
    numerator = tl.exp(x - tl.max(x, axis=0))
    out = numerator / tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=True)


fault = Fault(
    name="softmax_padding_counts",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy",),
    klass="PAD",
    line="if FIXED else 0.0",
    source="triton-lang/triton#9838",
)
