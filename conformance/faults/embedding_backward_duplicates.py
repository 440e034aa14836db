"""Gradient of an embedding that stores the gradient of a token into its row: of equal tokens one counts."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_triton.arguments import check_tensors

_embedding_backward = Op(
    reference=lambda table, index, dy: torch.zeros_like(table).index_add(0, index.long(), dy),
    inputs=dict(
        table=kst.tensors("entries", "width", dtypes=(torch.float32,)),
        index=kst.indices("tokens", into="entries"),
        dy=kst.tensors("tokens", "width", dtypes=(torch.float32,)),
    ),
    exact=True,
    name="embedding_backward",
)


@triton.jit
def _kernel(index_ptr, dy_ptr, out_ptr, width, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    entry = tl.load(index_ptr + token)
    dy = tl.load(dy_ptr + token * width + column, mask=column < width, other=0.0)
    if FIXED:
        tl.atomic_add(out_ptr + entry * width + column, dy, mask=column < width)
    else:
        tl.store(out_ptr + entry * width + column, dy, mask=column < width)


def _launch(table: torch.Tensor, index: torch.Tensor, dy: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("embedding_backward", table=table, dy=dy)
    tokens, width = dy.shape
    out = torch.zeros(table.shape, dtype=table.dtype, device=table.device)
    if dy.numel():
        _kernel[(tokens,)](
            index.contiguous(), dy.contiguous(), out, width, FIXED=fixed, BLOCK=triton.next_power_of_2(width)
        )
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="embedding_backward_duplicates",
    op=_embedding_backward,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("races", "exact", "accuracy"),
    klass="DUPLICATES",
    line="tl.store(out_ptr + entry * width + column, dy, mask=column < width)",
    source="flagos-ai/FlagGems#445",
    promises={"order": "any", "deterministic": False},
)
