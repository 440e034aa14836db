"""Addition whose row offsets have 32 bits and wrap from 2**31 on."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import vector_add
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(
    x_ptr, y_ptr, out_ptr, columns, x_stride, x_step, y_stride, y_step, out_stride,
    COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64 if FIXED else tl.int32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK).to(tl.int64)
        live = column < columns
        x = tl.load(x_ptr + row * x_stride + column * x_step, mask=live).to(COMPUTE)
        y = tl.load(y_ptr + row * y_stride + column * y_step, mask=live).to(COMPUTE)
        tl.store(out_ptr + row * out_stride + column, (x + y).to(out_ptr.dtype.element_ty), mask=live)


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("add", x=x, y=y)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        _kernel[(rows,)](
            x, y, out, columns, *x.stride(), *y.stride(), columns, COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=32
        )
    return out


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=True)


fault = Fault(
    name="add_int32_offsets",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("offsets",),
    klass="I32",
    line="tl.int64 if FIXED else tl.int32",
    source="triton-lang/triton#3296",
)
