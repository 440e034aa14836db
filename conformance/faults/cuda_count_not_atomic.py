"""Counts of indices in CUDA with `++`: of equal indices one is counted."""

from __future__ import annotations

import pathlib

import torch

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 128

_count = Op(
    reference=lambda counts, index: counts.index_add(0, index.long(), torch.ones(len(index), dtype=torch.int32)),
    inputs=dict(
        counts=kst.tensors("bins", dtypes=(torch.int32,), domain=kst.integers(0, 100)),
        index=kst.indices("n", into="bins", dtypes=(torch.int64,)),
    ),
    exact=True,
    name="count",
)


def _launch(counts: torch.Tensor, index: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    out = counts.clone(memory_format=torch.contiguous_format)
    n = index.numel()
    if n:
        args = (index.contiguous(), out, n)
        launcher.load(SOURCE).launch("fixed" if fixed else "faulty", -(-n // BLOCK), BLOCK, args)
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_count_not_atomic",
    op=_count,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("races", "accuracy", "exact"),
    klass="DUPLICATES",
    line="counts[index[i]]++;",
    source="flagos-ai/FlagGems#445",
)
