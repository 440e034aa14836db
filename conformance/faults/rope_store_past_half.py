"""Rotary embedding that stores the padded lanes of the second half into the next head."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import rope
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(
    x_ptr, cos_ptr, sin_ptr, out_ptr, heads, half, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr
):
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
    stored = live if FIXED else i >= 0
    tl.store(out_ptr + i, (first * cos - second * sin).to(out_ptr.dtype.element_ty), mask=live)
    tl.store(out_ptr + half + i, (second * cos + first * sin).to(out_ptr.dtype.element_ty), mask=stored)


def _launch(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("rope", x=x, cos=cos, sin=sin)
    tokens, heads, width = x.shape
    out = torch.empty((tokens, heads, width), dtype=x.dtype, device=x.device)
    if x.numel():
        _kernel[(tokens * heads,)](
            x.contiguous(), cos.contiguous(), sin.contiguous(), out, heads, width // 2,
            COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=triton.next_power_of_2(width // 2),
        )  # fmt: skip
    return out


def _faulty(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return _launch(x, cos, sin, fixed=False)


def _fixed(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return _launch(x, cos, sin, fixed=True)


fault = Fault(
    name="rope_store_past_half",
    op=rope,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("bounds", "races", "written"),
    klass="OOBW",
    line="live if FIXED else i >= 0",
    source="sgl-project/sglang#35096",
)
