"""Rows gathered from slots of a cache: a token without one (-1) gives zeros, and here nothing at all."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_triton.arguments import check_tensors

_gather_rows = Op(
    reference=lambda cache, slots: torch.where((slots >= 0)[:, None], cache[slots.long().clamp(min=0)], 0.0),
    inputs=dict(
        cache=kst.tensors("slots", "width", dtypes=(torch.float32,)), slots=kst.indices("n", into="slots", ignore=-1)
    ),
    independent="n",
    exact=True,
    name="gather_rows",
)


@triton.jit
def _kernel(cache_ptr, slots_ptr, out_ptr, width, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    slot = tl.load(slots_ptr + token).to(tl.int64)
    row = tl.load(cache_ptr + slot * width + column, mask=(column < width) & (slot >= 0), other=0.0)
    written = column < width if FIXED else (column < width) & (slot >= 0)
    tl.store(out_ptr + token * width + column, row, mask=written)


def _launch(cache: torch.Tensor, slots: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("gather_rows", cache=cache)
    tokens, width = len(slots), cache.shape[1]
    out = torch.empty((tokens, width), dtype=cache.dtype, device=cache.device)
    if out.numel():
        _kernel[(tokens,)](
            cache.contiguous(), slots.contiguous(), out, width, FIXED=fixed, BLOCK=triton.next_power_of_2(width)
        )
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="gather_rows_padding_unwritten",
    op=_gather_rows,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("written",),
    klass="INIT",
    line="column < width if FIXED else (column < width) & (slot >= 0)",
    source="vllm-project/vllm#46408",
)
