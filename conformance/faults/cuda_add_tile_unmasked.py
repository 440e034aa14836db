"""Addition in CUDA by tiles of 16 x 16 whose last columns are not masked."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.faults.launchers import check_single, twins
from conformance.ops import vector_add
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
SIDE = 16


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_single(x=x, y=y)
    x, y = x.contiguous(), y.contiguous()
    rows, columns = x.shape
    out = torch.empty_like(x)
    if out.numel():
        grid = (-(-columns // SIDE), -(-rows // SIDE))
        launcher.load(SOURCE).launch("fixed" if fixed else "faulty", grid, (SIDE, SIDE), (x, y, out, rows, columns))
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_add_tile_unmasked",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("bounds", "races"),
    klass="OOBW",
    line="(!FIXED || column < columns)",
    source="NVlabs/COAT#19",
    promises={"dtypes": (torch.float32,)},
)
