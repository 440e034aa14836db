"""Addition in CUDA whose row offset, row times stride, has 32 bits."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.faults.launchers import check_single, twins
from conformance.ops import vector_add
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 64


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_single(x=x, y=y)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        args = (x, y, out, columns, *x.stride(), *y.stride())
        launcher.load(SOURCE).launch("fixed" if fixed else "faulty", rows, BLOCK, args)
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_add_int32_rows",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("offsets",),
    klass="I32",
    line="row * (Offset)x_row",
    source="databricks/megablocks#186",
    promises={"dtypes": (torch.float32,)},
)
