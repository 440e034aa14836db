"""Addition in CUDA that is given views and reads them as if they were dense, as a RawKernel does."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.faults.launchers import check_single, twins
from conformance.ops import vector_add
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 128


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_single(x=x, y=y)
    if fixed:
        x, y = x.contiguous(), y.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = out.numel()
    if n:
        launcher.load(SOURCE).launch("add", -(-n // BLOCK), BLOCK, (x, y, out, n))
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_add_views",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("bounds", "layouts", "accuracy"),
    klass="STR",
    line="out[i] = x[i] + y[i];",
    source="cupy/cupy#9811",
    promises={"dtypes": (torch.float32,)},
)
