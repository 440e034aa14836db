"""Gather whose row offset, index times stride, has 32 bits."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import embedding
from kernels_triton.arguments import check_tensors


@triton.jit
def _kernel(table_ptr, index_ptr, out_ptr, width, stride, step, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    entry = tl.load(index_ptr + token).to(tl.int64 if FIXED else tl.int32)
    row = tl.load(table_ptr + entry * stride + column.to(tl.int64) * step, mask=column < width)
    tl.store(out_ptr + token * width + column, row, mask=column < width)


def _launch(table: torch.Tensor, index: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("embedding", table=table)
    width, tokens = table.shape[1], index.numel()
    out = torch.empty((tokens, width), dtype=table.dtype, device=table.device)
    if out.numel():
        _kernel[(tokens,)](
            table, index.contiguous(), out, width, *table.stride(), FIXED=fixed, BLOCK=triton.next_power_of_2(width)
        )
    return out


def _faulty(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return _launch(table, index, fixed=False)


def _fixed(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return _launch(table, index, fixed=True)


fault = Fault(
    name="embedding_int32",
    op=embedding,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("offsets",),
    klass="I32",
    line="tl.int64 if FIXED else tl.int32",
    source="flagos-ai/FlagGems#4156",
)
