"""RMSNorm whose programs pass the scale of their row through one element that they share."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import rms_norm
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _scale_kernel(
    x_ptr, scale_ptr, columns, eps: tl.float64, FIXED: tl.constexpr, COMPUTE: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / columns + tl.full((1,), eps, COMPUTE))
    slot = row if FIXED else 0
    tl.store(scale_ptr + slot + tl.arange(0, 1), scale)


@triton.jit
def _apply_kernel(
    x_ptr, w_ptr, scale_ptr, out_ptr, columns, FIXED: tl.constexpr, COMPUTE: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE)
    w = tl.load(w_ptr + column, mask=live, other=0.0).to(COMPUTE)
    out = x * tl.load(scale_ptr + (row if FIXED else 0)) * w
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _launch(x: torch.Tensor, w: torch.Tensor, eps: float, *, fixed: bool) -> torch.Tensor:
    check_tensors("rms_norm", x=x, w=w)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    scale = torch.empty(rows, dtype=torch.float64 if x.dtype == torch.float64 else torch.float32, device=x.device)
    if out.numel():
        x, w = x.contiguous(), w.contiguous()
        meta = {"FIXED": fixed, "COMPUTE": COMPUTE[x.dtype], "BLOCK": triton.next_power_of_2(columns)}
        _scale_kernel[(rows,)](x, scale, columns, eps, **meta)
        _apply_kernel[(rows,)](x, w, scale, out, columns, **meta)
    return out


def _faulty(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return _launch(x, w, eps, fixed=False)


def _fixed(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return _launch(x, w, eps, fixed=True)


fault = Fault(
    name="rms_norm_shared_scale",
    op=rms_norm,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("races", "accuracy", "determinism"),
    klass="RACE",
    line="slot = row if FIXED else 0",
    source="fla-org/flash-linear-attention#1033",
)
