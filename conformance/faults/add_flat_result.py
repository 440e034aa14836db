"""Addition that returns its result flat."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import vector_add
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(COMPUTE)
    y = tl.load(y_ptr + i, mask=i < n).to(COMPUTE)
    tl.store(out_ptr + i, (x + y).to(out_ptr.dtype.element_ty), mask=i < n)


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("add", x=x, y=y)
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    n = out.numel()
    if n:
        _kernel[(triton.cdiv(n, 64),)](x, y, out, n, COMPUTE=COMPUTE[x.dtype], BLOCK=64)
    return out if fixed else out.view(-1)


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=True)


fault = Fault(
    name="add_flat_result",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("metadata",),
    klass="META",
    line="out.view(-1)",
    source="flagos-ai/FlagGems#960",
)
