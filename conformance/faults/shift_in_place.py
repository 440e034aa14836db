"""Shift by one in place: a program reads an element that its neighbour may have written already."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.op import Op
from kernels_triton.arguments import check_tensors

_shift = Op(
    reference=lambda x: torch.cat([x[:1], x[:-1]]),
    inputs=dict(x=kst.tensors("n", layouts=kst.CONTIGUOUS)),
    mutates="x",
    exact=True,
    name="shift",
)


@triton.jit
def _kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.maximum(i - 1, 0), mask=i < n)
    tl.store(out_ptr + i, x, mask=i < n)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("shift", x=x)
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 16),)](x.clone() if fixed else x, x, n, BLOCK=16)
    return x


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="shift_in_place",
    op=_shift,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("races", "determinism", "accuracy", "exact"),
    klass="ALIAS",
    line="x.clone() if fixed else x",
    source="triton-lang/triton#1466",
    promises={"layouts": kst.CONTIGUOUS},
)
