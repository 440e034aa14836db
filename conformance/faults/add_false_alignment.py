"""Addition that promises the compiler a 16-byte alignment that a view may not have."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import vector_add
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x_ptrs = x_ptr + i
    if not FIXED:
        x_ptrs = tl.multiple_of(x_ptrs, 16)
    # whole blocks alone are vectorized: a mask that changes inside a vector would keep the accesses apart
    x = tl.load(x_ptrs).to(COMPUTE)
    y = tl.load(y_ptr + i).to(COMPUTE)
    tl.store(out_ptr + i, (x + y).to(out_ptr.dtype.element_ty))


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("add", x=x, y=y)
    x, y = x.contiguous(), y.contiguous()
    out = x + y
    n = out.numel() // 64 * 64
    if n:
        _kernel[(n // 64,)](x, y, out, n, COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=64)
    return out


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=True)


fault = Fault(
    name="add_false_alignment",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("crash", "accuracy", "bounds"),
    klass="ALIGN",
    line="tl.multiple_of(x_ptrs, 16)",
    source="pytorch/pytorch#151859",
    runtime="gpu",
)
