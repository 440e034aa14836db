"""Softmax in CUDA whose block reductions share memory with no barrier between one and the next."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.faults.launchers import check_single, twins
from conformance.ops import softmax
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 128


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_single(x=x)
    x = x.contiguous()
    out = torch.empty_like(x)
    if out.numel():
        rows, columns = x.shape
        launcher.load(SOURCE).launch("fixed" if fixed else "faulty", rows, BLOCK, (x, out, columns))
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_softmax_no_barrier",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("races",),
    klass="RACE",
    line="if (FIXED) __syncthreads();",
    source="ggml-org/llama.cpp#26385",
    promises={"dtypes": (torch.float32,), "order": "any"},
)
