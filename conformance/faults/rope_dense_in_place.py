"""Rotary embedding in place on what it takes for a copy: contiguous() copies nothing when there is no need."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import rope
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, half, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = row // heads
    i = tl.arange(0, BLOCK)
    live = i < half
    x_ptr += row * 2 * half
    out_ptr += row * 2 * half
    first = tl.load(x_ptr + i, mask=live, other=0.0).to(COMPUTE)
    second = tl.load(x_ptr + half + i, mask=live, other=0.0).to(COMPUTE)
    cos = tl.load(cos_ptr + token * half + i, mask=live, other=0.0).to(COMPUTE)
    sin = tl.load(sin_ptr + token * half + i, mask=live, other=0.0).to(COMPUTE)
    tl.store(out_ptr + i, (first * cos - second * sin).to(out_ptr.dtype.element_ty), mask=live)
    tl.store(out_ptr + half + i, (second * cos + first * sin).to(out_ptr.dtype.element_ty), mask=live)


def _launch(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("rope", x=x, cos=cos, sin=sin)
    tokens, heads, width = x.shape
    out = x.clone(memory_format=torch.contiguous_format) if fixed else x.contiguous()
    if x.numel():
        _kernel[(tokens * heads,)](
            out, cos.contiguous(), sin.contiguous(), out, heads, width // 2,
            COMPUTE=COMPUTE[x.dtype], BLOCK=triton.next_power_of_2(width // 2),
        )  # fmt: skip
    return out


def _faulty(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return _launch(x, cos, sin, fixed=False)


def _fixed(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return _launch(x, cos, sin, fixed=True)


fault = Fault(
    name="rope_dense_in_place",
    op=rope,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("inputs_kept", "bounds"),
    klass="ALIAS",
    line="if fixed else x.contiguous()",
    source="linkedin/Liger-Kernel#342",
)
