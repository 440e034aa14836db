"""Softmax whose loop over blocks of columns ends one column early."""

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
    for start in range(0, columns if FIXED else columns - 1, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=-float("inf"))
        top = tl.maximum(top, tl.max(x.to(COMPUTE), axis=0))
    total = tl.zeros((BLOCK,), COMPUTE)
    for start in range(0, columns if FIXED else columns - 1, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=-float("inf"))
        total += tl.exp(x.to(COMPUTE) - top)
    denominator = tl.sum(total, axis=0)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=-float("inf"))
        out = tl.exp(x.to(COMPUTE) - top) / denominator
        tl.store(
            out_ptr + row * columns + start + column, out.to(out_ptr.dtype.element_ty), mask=column < columns - start
        )


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=False, block=16)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return launch_rows(_kernel, x, fixed=True, block=16)


fault = Fault(
    name="softmax_skips_last_column",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="LOGIC",
    line="columns if FIXED else columns - 1",
    source="",
)
