"""Softmax whose block, and so the order of its sum, depends on how many rows there are."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import softmax
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, out_ptr, columns, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    top = tl.full((1,), -float("inf"), COMPUTE)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + start + lane, mask=lane < columns - start, other=-float("inf"))
        top = tl.maximum(top, tl.max(x.to(COMPUTE), axis=0))
    total = tl.zeros((1,), COMPUTE)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + start + lane, mask=lane < columns - start, other=-float("inf"))
        total += tl.sum(tl.exp(x.to(COMPUTE) - top), axis=0)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * columns + start + lane, mask=lane < columns - start, other=-float("inf"))
        out = tl.exp(x.to(COMPUTE) - top) / total
        tl.store(out_ptr + row * columns + start + lane, out.to(out_ptr.dtype.element_ty), mask=lane < columns - start)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("softmax", x=x)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    block = 16 if fixed or rows > 1 else 4
    if out.numel():
        _kernel[(rows,)](x.contiguous(), out, columns, COMPUTE=COMPUTE[x.dtype], BLOCK=block)
    return out


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="softmax_blocks_by_batch",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("batch_invariance",),
    klass="BATCH",
    line="16 if fixed or rows > 1 else 4",
    source="vllm-project/vllm#33688",
    promises={"order": "any"},
)
