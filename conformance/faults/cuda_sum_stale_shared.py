"""Row sum in CUDA that adds 32 partial sums, though a block has four warps: the others are never written."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.faults.launchers import check_single, twins
from conformance.ops import row_sum
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 128


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_single(x=x)
    x = x.contiguous()
    rows, columns = x.shape
    out = torch.zeros(rows, dtype=x.dtype, device=x.device)
    if x.numel():
        launcher.load(SOURCE).launch("fixed" if fixed else "faulty", rows, BLOCK, (x, out, columns))
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_sum_stale_shared",
    op=row_sum,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("written",),
    klass="INIT",
    line="lane < (FIXED ? WARPS : 32) ? sums[lane] : 0.0f",
    source="NVIDIA/apex#1184",
    promises={"dtypes": (torch.float32,), "order": "any"},
)
