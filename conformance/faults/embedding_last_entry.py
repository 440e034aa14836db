"""Gather that clamps its index one entry too early."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import embedding
from kernels_triton.arguments import check_tensors


@triton.jit
def _kernel(table_ptr, index_ptr, out_ptr, entries, width, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    last = entries - 1 if FIXED else entries - 2
    entry = tl.maximum(tl.minimum(tl.load(index_ptr + token).to(tl.int32), last), 0)
    row = tl.load(table_ptr + entry * width + column, mask=column < width)
    tl.store(out_ptr + token * width + column, row, mask=column < width)


def _launch(table: torch.Tensor, index: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("embedding", table=table)
    (entries, width), tokens = table.shape, index.numel()
    out = torch.empty((tokens, width), dtype=table.dtype, device=table.device)
    if out.numel():
        _kernel[(tokens,)](
            table.contiguous(),
            index.contiguous(),
            out,
            entries,
            width,
            FIXED=fixed,
            BLOCK=triton.next_power_of_2(width),
        )
    return out


def _faulty(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return _launch(table, index, fixed=False)


def _fixed(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return _launch(table, index, fixed=True)


fault = Fault(
    name="embedding_last_entry",
    op=embedding,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "exact"),
    klass="IDX",
    line="else entries - 2",
    source="vllm-project/vllm#46408",
)
