"""Gradient of SiLU that is written over the gradient it was given, which another consumer still needs."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_triton.arguments import COMPUTE, check_tensors

_silu_backward = Op(
    reference=lambda x, dy: dy * torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x))),
    inputs=dict(x=kst.tensors("rows", "cols", domain=kst.bounded(-8, 8)), dy=kst.tensors("rows", "cols")),
    independent="rows",
    name="silu_backward",
)


@triton.jit
def _kernel(x_ptr, dy_ptr, out_ptr, n, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(COMPUTE)
    dy = tl.load(dy_ptr + i, mask=i < n).to(COMPUTE)
    gate = 1.0 / (1.0 + tl.exp(-x))
    out = dy * gate * (1.0 + x * (1.0 - gate))
    tl.store(out_ptr + i, out.to(out_ptr.dtype.element_ty), mask=i < n)


def _launch(x: torch.Tensor, dy: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("silu_backward", x=x, dy=dy)
    x, dy = x.contiguous(), dy.contiguous()
    out = torch.empty_like(dy) if fixed else dy
    n = out.numel()
    if n:
        _kernel[(triton.cdiv(n, 32),)](x, dy, out, n, COMPUTE=COMPUTE[x.dtype], BLOCK=32)
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="silu_backward_in_place",
    op=_silu_backward,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("inputs_kept",),
    klass="ALIAS",
    line="torch.empty_like(dy) if fixed else dy",
    source="linkedin/Liger-Kernel#1305",
)
