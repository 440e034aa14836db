"""RMSNorm that squares before it widens: float16 overflows from 256 on."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_rows
from conformance.ops import rms_norm


@triton.jit
def _kernel(
    x_ptr, w_ptr, out_ptr, columns, eps: tl.float64, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE)
    w = tl.load(w_ptr + column, mask=live, other=0.0).to(COMPUTE)
    small = tl.full((1,), eps, COMPUTE)
    raw = tl.load(x_ptr + row * columns + column, mask=live, other=0.0)
    square = x * x if FIXED else (raw * raw).to(COMPUTE)
    out = x / tl.sqrt(tl.sum(square, axis=0) / columns + small) * w
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _faulty(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return launch_rows(_kernel, x, w, scalars=(eps,), fixed=False)


def _fixed(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return launch_rows(_kernel, x, w, scalars=(eps,), fixed=True)


fault = Fault(
    name="rms_norm_half_square",
    op=rms_norm,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="ACC",
    line="else (raw * raw).to(COMPUTE)",
    source="linkedin/Liger-Kernel#950",
)
