"""Addition of rows by index with a load and a store: of equal indices one addition survives."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.op import Op
from kernels_triton.arguments import check_tensors

_index_add = Op(
    reference=lambda table, index, values: table.index_add(0, index.long(), values),
    inputs=dict(
        table=kst.tensors("entries", dtypes=(torch.float32,)),
        index=kst.indices("n", into="entries"),
        values=kst.tensors("n", dtypes=(torch.float32,)),
    ),
    exact=True,
    name="index_add",
)


@triton.jit
def _kernel(out_ptr, index_ptr, values_ptr, n, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + i, mask=i < n, other=0)
    value = tl.load(values_ptr + i, mask=i < n, other=0.0)
    if FIXED:
        tl.atomic_add(out_ptr + index, value, mask=i < n)
    else:
        tl.store(out_ptr + index, tl.load(out_ptr + index, mask=i < n) + value, mask=i < n)


def _launch(table: torch.Tensor, index: torch.Tensor, values: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("index_add", table=table, values=values)
    out = table.clone(memory_format=torch.contiguous_format)
    n = values.numel()
    if n:
        _kernel[(triton.cdiv(n, 16),)](out, index.contiguous(), values.contiguous(), n, FIXED=fixed, BLOCK=16)
    return out


def _faulty(table: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return _launch(table, index, values, fixed=False)


def _fixed(table: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return _launch(table, index, values, fixed=True)


fault = Fault(
    name="index_add_duplicates",
    op=_index_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("races", "exact", "accuracy"),
    klass="DUPLICATES",
    line="tl.load(out_ptr + index, mask=i < n) + value",
    source="flagos-ai/FlagGems#445",
    promises={"order": "any", "deterministic": False},
)
