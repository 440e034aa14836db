"""Quantization that rounds halves away from zero; torch rounds them to even."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import quantize_int8
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, out_ptr, n, scale: tl.float64, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(COMPUTE) / tl.full((1,), scale, COMPUTE)
    x = tl.minimum(tl.maximum(x, -1024.0), 1024.0)
    up = tl.floor(x + 0.5)
    code = tl.where((up - x == 0.5) & (tl.floor(up * 0.5) * 2.0 != up), up - 1.0, up)
    if not FIXED:
        code = tl.where(x < 0, tl.ceil(x - 0.5), tl.floor(x + 0.5))
    code = tl.minimum(tl.maximum(code, -128.0), 127.0)
    tl.store(out_ptr + i, code.to(tl.int8), mask=i < n)


def _launch(x: torch.Tensor, scale: float, *, fixed: bool) -> torch.Tensor:
    check_tensors("quantize", x=x)
    x = x.contiguous()
    out = torch.empty_like(x, dtype=torch.int8)
    n = out.numel()
    if n:
        _kernel[(triton.cdiv(n, 32),)](x, out, n, scale, COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=32)
    return out


def _faulty(x: torch.Tensor, scale: float) -> torch.Tensor:
    return _launch(x, scale, fixed=False)


def _fixed(x: torch.Tensor, scale: float) -> torch.Tensor:
    return _launch(x, scale, fixed=True)


fault = Fault(
    name="quantize_ties_away",
    op=quantize_int8,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "exact"),
    klass="DTYPE",
    line="tl.ceil(x - 0.5)",
    source="AlphaGPU/leetgpu-challenges#118",
)
