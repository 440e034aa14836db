"""Softmax in one block, capped at 2048 columns: those beyond are never stored."""

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
    end = columns if FIXED else BLOCK
    for start in range(0, end, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=-float("inf"))
        new_top = tl.maximum(top, tl.max(x.to(COMPUTE), axis=0))
        blind = new_top == -float("inf")
        shift = tl.where(blind, 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x.to(COMPUTE) - shift), axis=0)
        top = new_top
    for start in range(0, end, BLOCK):
        x = tl.load(x_ptr + row * columns + start + column, mask=column < columns - start, other=-float("inf"))
        out = tl.exp(x.to(COMPUTE) - top) / total
        tl.store(out_ptr + row * columns + start + column, out.to(out_ptr.dtype.element_ty), column < columns - start)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    block = min(triton.next_power_of_2(max(x.shape[1], 1)), 2048)
    return launch_rows(_kernel, x, fixed=fixed, block=block)


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="softmax_capped_block",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("written",),
    klass="SIZE",
    line="end = columns if FIXED else BLOCK",
    promises={"order": "any"},
)
