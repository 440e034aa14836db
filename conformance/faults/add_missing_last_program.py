"""Addition that starts one program too few when the last block is not full."""

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
    blocks = triton.cdiv(n, 16) if fixed else n // 16
    if blocks:
        _kernel[(blocks,)](x, y, out, n, COMPUTE=COMPUTE[x.dtype], BLOCK=16)
    return out


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=True)


fault = Fault(
    name="add_missing_last_program",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("written",),
    klass="LOGIC",
    line="else n // 16",
    source="vllm-project/vllm-xpu-kernels#453",
)
