"""LayerNorm whose variance sums the padded lanes, each of which holds -mean."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_rows
from conformance.ops import layer_norm


@triton.jit
def _kernel(
    x_ptr, w_ptr, b_ptr, out_ptr, columns, eps: tl.float64,
    COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE)
    w = tl.load(w_ptr + column, mask=live, other=0.0).to(COMPUTE)
    b = tl.load(b_ptr + column, mask=live, other=0.0).to(COMPUTE)
    small = tl.full((1,), eps, COMPUTE)
    mean = tl.sum(x, axis=0) / columns
    centered = tl.where(live, x - mean, 0.0) if FIXED else x - mean
    variance = tl.sum(centered * centered, axis=0) / columns
    out = centered / tl.sqrt(variance + small) * w + b
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _faulty(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, eps: float) -> torch.Tensor:
    return launch_rows(_kernel, x, w, b, scalars=(eps,), fixed=False)


def _fixed(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, eps: float) -> torch.Tensor:
    return launch_rows(_kernel, x, w, b, scalars=(eps,), fixed=True)


fault = Fault(
    name="layer_norm_padded_variance",
    op=layer_norm,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy",),
    klass="PAD",
    line="if FIXED else x - mean",
    source="linkedin/Liger-Kernel#518",
)
