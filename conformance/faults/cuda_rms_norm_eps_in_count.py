"""RMSNorm in CUDA that adds eps to the number of columns: `sum / (columns + eps)`."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.faults.launchers import check_single, twins
from conformance.ops import rms_norm
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 128


def _launch(x: torch.Tensor, w: torch.Tensor, eps: float, *, fixed: bool) -> torch.Tensor:
    check_single(x=x, w=w)
    x, w = x.contiguous(), w.contiguous()
    out = torch.empty_like(x)
    if out.numel():
        rows, columns = x.shape
        launcher.load(SOURCE).launch("fixed" if fixed else "faulty", rows, BLOCK, (x, w, out, columns, eps))
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_rms_norm_eps_in_count",
    op=rms_norm,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="LOGIC",
    line="sum / (columns + eps)",
    source="xlite-dev/LeetCUDA#317",
    promises={"dtypes": (torch.float32,), "order": "any"},
)
