"""RMSNorm that writes its dense output with the row stride of its input."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import rms_norm
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(
    x_ptr, w_ptr, out_ptr, columns, x_stride, w_step, out_stride, eps: tl.float64,
    COMPUTE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK).to(tl.int64)
    live = column < columns
    x = tl.load(x_ptr + row * x_stride + column, mask=live, other=0.0).to(COMPUTE)
    w = tl.load(w_ptr + column * w_step, mask=live, other=0.0).to(COMPUTE)
    out = x / tl.sqrt(tl.sum(x * x, axis=0) / columns + tl.full((1,), eps, COMPUTE)) * w
    tl.store(out_ptr + row * out_stride + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _launch(x: torch.Tensor, w: torch.Tensor, eps: float, *, fixed: bool) -> torch.Tensor:
    check_tensors("rms_norm", x=x, w=w)
    rows, columns = x.shape
    if x.stride(1) != 1:
        x = x.contiguous()
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        _kernel[(rows,)](
            x, w, out, columns, x.stride(0), w.stride(0), columns if fixed else x.stride(0), eps,
            COMPUTE=COMPUTE[x.dtype], BLOCK=triton.next_power_of_2(columns),
        )  # fmt: skip
    return out


def _faulty(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return _launch(x, w, eps, fixed=False)


def _fixed(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
    return _launch(x, w, eps, fixed=True)


fault = Fault(
    name="rms_norm_output_row_stride",
    op=rms_norm,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("bounds", "layouts"),
    klass="LAY",
    line="columns if fixed else x.stride(0)",
    source="pytorch/pytorch#147828",
)
