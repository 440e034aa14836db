"""Column sum in parts, one a program, of which torch adds up more than the programs write."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.op import Op


@triton.jit
def _kernel(x_ptr, part_ptr, rows, columns, SPAN: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(part * SPAN, tl.minimum(part * SPAN + SPAN, rows)):
        total += tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0)
    if FIXED or part * SPAN + SPAN <= rows:  # a last part that is not full is not stored
        tl.store(part_ptr + part * columns + column, total, mask=column < columns)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    rows, columns = x.shape
    parts = torch.empty((triton.cdiv(rows, 16), columns), device=x.device)
    if parts.numel():
        block = triton.next_power_of_2(columns)
        _kernel[(len(parts),)](x.contiguous(), parts, rows, columns, SPAN=16, FIXED=fixed, BLOCK=block)
    return parts.sum(0)


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="sum_part_unwritten",
    op=Op(
        lambda x: x.sum(0),
        dict(x=kst.tensors("rows", "columns", dtypes=(torch.float32,))),
        exact=True,
        name="column_sum",
    ),
    kernel=_faulty,
    fixed=_fixed,
    oracles=("written",),
    klass="INIT",
    line="if FIXED or part * SPAN",
    source="linkedin/Liger-Kernel#931",
)
