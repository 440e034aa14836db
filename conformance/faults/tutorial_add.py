"""The addition of a first Triton lesson: it walks memory, not elements, so strides are ignored."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import kernels_triton
from conformance.faults.fault import Fault
from conformance.ops import vector_add


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    total = tl.load(x_ptr + i, mask=live) + tl.load(y_ptr + i, mask=live)
    tl.store(out_ptr + i, total, mask=live)


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    _kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out


fault = Fault(
    name="tutorial_add",
    op=vector_add,
    kernel=_faulty,
    fixed=kernels_triton.vector_add,
    oracles=("layouts", "bounds"),
    klass="STR",
    line="tl.load(x_ptr + i, mask=live)",
    source="",
)
