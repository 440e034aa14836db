"""Row sum by floating-point atomics, promised to be deterministic: its bits depend on the order of programs."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import row_sum
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _atomic_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(x, axis=0))


@triton.jit
def _ordered_kernel(x_ptr, out_ptr, columns, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), COMPUTE)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("sum", x=x)
    if x.dtype != torch.float32:
        raise TypeError(f"sum: x has dtype {x.dtype}, supported is float32")
    rows, columns = x.shape
    x = x.contiguous()
    total = torch.zeros(rows, device=x.device)
    if x.numel() and fixed:
        _ordered_kernel[(rows,)](x, total, columns, COMPUTE=COMPUTE[x.dtype], BLOCK=16)
    elif x.numel():
        _atomic_kernel[(rows, triton.cdiv(columns, 16))](x, total, columns, BLOCK=16)
    return total


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="sum_atomic_order",
    op=row_sum,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("determinism",),
    klass="DET",
    line="tl.atomic_add(out_ptr + row, tl.sum(x, axis=0))",
    source="vllm-project/vllm#33688",
    runtime="gpu",  # the interpreter runs programs in an order, and with float atomics no other order is asked of them
    promises={"dtypes": (torch.float32,)},
)
