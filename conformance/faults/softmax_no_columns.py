"""Softmax that cannot make a block for rows without columns, and does not refuse them."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import softmax
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, out_ptr, columns, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=live, other=-float("inf")).to(COMPUTE)
    numerator = tl.exp(x - tl.max(x, axis=0))
    out = numerator / tl.sum(numerator, axis=0)
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("softmax", x=x)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if rows and (columns or not fixed):
        block = triton.next_power_of_2(columns)
        _kernel[(rows,)](x.contiguous(), out, columns, COMPUTE=COMPUTE[x.dtype], BLOCK=block)
    return out


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="softmax_no_columns",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("crash",),
    klass="SIZE",
    line="(columns or not fixed)",
    source="flagos-ai/FlagGems#5298",
)
