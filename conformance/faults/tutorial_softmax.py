"""The softmax of a first Triton lesson: columns are taken to be adjacent, and there must be one."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import kernels_triton
from conformance.faults.fault import Fault
from conformance.ops import softmax


@triton.jit
def _kernel(out_ptr, x_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    x = tl.load(x_ptr + row * x_stride + column, mask=live, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride + column, numerator / tl.sum(numerator, axis=0), mask=live)


def _faulty(x: torch.Tensor) -> torch.Tensor:
    rows, columns = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(columns)
    warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
    _kernel[(rows,)](out, x, x.stride(0), out.stride(0), columns, BLOCK=block, num_warps=warps)
    return out


fault = Fault(
    name="tutorial_softmax",
    op=softmax,
    kernel=_faulty,
    fixed=kernels_triton.softmax,
    oracles=("layouts", "bounds"),
    klass="STR",
    line="x_ptr + row * x_stride + column",
    source="triton-lang/triton#3296",
    promises={"dtypes": (torch.float32, torch.float64)},
)
