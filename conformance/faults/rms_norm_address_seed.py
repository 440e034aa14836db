"""RMSNorm with a dither whose seed is the address of its input: equal calls differ in the last bits."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import rms_norm
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(
    x_ptr, w_ptr, out_ptr, columns, eps: tl.float64, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE)
    w = tl.load(w_ptr + column, mask=live, other=0.0).to(COMPUTE)
    out = x / tl.sqrt(tl.sum(x * x, axis=0) / columns + tl.full((1,), eps, COMPUTE)) * w
    if not FIXED:
        # 2**-12 of the value: below half a unit of float16, above that of float32
        out += out * (tl.rand(x_ptr.to(tl.int64), row * columns + column) - 0.5) * 0.00048828125
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _launch(x: torch.Tensor, w: torch.Tensor, eps: float, *, fixed: bool) -> torch.Tensor:
    check_tensors("rms_norm", x=x, w=w)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        _kernel[(rows,)](
            x.contiguous(), w.contiguous(), out, columns, eps,
            COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=triton.next_power_of_2(columns),
        )  # fmt: skip
    return out


def _faulty(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return _launch(x, w, eps, fixed=False)


def _fixed(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return _launch(x, w, eps, fixed=True)


fault = Fault(
    name="rms_norm_address_seed",
    op=rms_norm,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("determinism", "accuracy"),
    klass="DET",
    line="tl.rand(x_ptr.to(tl.int64)",
    source="facebookresearch/xformers#173",
)
