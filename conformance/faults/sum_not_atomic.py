"""Row sum whose programs add to one element with a load and a store."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import row_sum
from kernels_triton.arguments import check_tensors


@triton.jit
def _kernel(x_ptr, out_ptr, columns, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0).to(tl.float32)
    part = tl.sum(x, axis=0)
    if FIXED:
        tl.atomic_add(out_ptr + row, part)
    else:
        tl.store(out_ptr + row, tl.load(out_ptr + row) + part)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("sum", x=x)
    if x.dtype == torch.float64:
        raise TypeError("sum: x has dtype torch.float64, which the float32 accumulator does not hold")
    rows, columns = x.shape
    total = torch.zeros(rows, device=x.device)
    if x.numel():
        _kernel[(rows, triton.cdiv(columns, 16))](x.contiguous(), total, columns, FIXED=fixed, BLOCK=16)
    return total.to(x.dtype)


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="sum_not_atomic",
    op=row_sum,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("races",),
    klass="RACE",
    line="tl.load(out_ptr + row) + part",
    source="triton-lang/triton#2499",
    promises={
        "order": "any",
        "deterministic": False,
        "batch_invariant": False,
        "dtypes": (torch.float32, torch.float16, torch.bfloat16),
    },
)
