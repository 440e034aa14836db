"""The RMSNorm of a first Triton lesson: one row stride for input and output, none for columns and weight."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import kernels_triton
from conformance.faults.fault import Fault
from conformance.ops import rms_norm


@triton.jit
def _kernel(x_ptr, w_ptr, y_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    x = tl.load(x_ptr + row * stride + column, mask=live, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + column, mask=live, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / columns + eps)
    tl.store(y_ptr + row * stride + column, (x * scale * w).to(y_ptr.dtype.element_ty), mask=live)


def _faulty(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    rows, columns = x.shape
    y = torch.empty_like(x)
    _kernel[(rows,)](x, w, y, x.stride(0), columns, eps, BLOCK=triton.next_power_of_2(columns))
    return y


fault = Fault(
    name="tutorial_rms_norm",
    op=rms_norm,
    kernel=_faulty,
    fixed=kernels_triton.rms_norm,
    oracles=("layouts", "bounds"),
    klass="LAY",
    line="tl.store(y_ptr + row * stride",
    source="pytorch/pytorch#147828",
)
