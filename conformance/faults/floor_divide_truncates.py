"""Floor division of integers by the operator of the kernel, which rounds towards zero."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op

_floor_divide = Op(
    reference=lambda x, y: torch.div(x, y, rounding_mode="floor"),
    inputs=dict(
        x=kst.tensors("rows", "cols", dtypes=(torch.int32,), domain=kst.integers(-1000, 1000)),
        y=kst.tensors("rows", "cols", dtypes=(torch.int32,), domain=kst.integers(1, 9)),
    ),
    independent="rows",
    name="floor_divide",
)


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    y = tl.load(y_ptr + i, mask=i < n, other=1)
    quotient = x // y
    if FIXED:
        quotient = tl.where((x < 0) & (quotient * y != x), quotient - 1, quotient)
    tl.store(out_ptr + i, quotient, mask=i < n)


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    n = out.numel()
    if n:
        _kernel[(triton.cdiv(n, 32),)](x, y, out, n, FIXED=fixed, BLOCK=32)
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="floor_divide_truncates",
    op=_floor_divide,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy",),
    klass="DTYPE",
    line="quotient = x // y",
    source="triton-lang/triton#619",
)
