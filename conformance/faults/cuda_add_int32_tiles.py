"""Addition in CUDA whose offset of a tile, tile times rows times stride, has 32 bits: it wraps into the tensor."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.faults.launchers import check_single, twins
from conformance.ops import vector_add
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK, ROWS = 64, 4


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_single(x=x, y=y)
    rows, columns = x.shape
    x, y = (t if t.stride(1) == 1 else t.contiguous() for t in (x, y))
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        args = (x, y, out, rows, columns, x.stride(0), y.stride(0))
        launcher.load(SOURCE).launch("fixed" if fixed else "faulty", -(-rows // ROWS), BLOCK, args)
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_add_int32_tiles",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("offsets",),
    klass="I32",
    line="first * (Offset)x_row",
    promises={"dtypes": (torch.float32,)},
)
