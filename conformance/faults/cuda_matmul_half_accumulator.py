"""Matrix product in CUDA whose sum has half precision."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.ops import matmul
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 128


def _launch(a: torch.Tensor, b: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    if a.dtype != torch.float16 or b.dtype != torch.float16:
        raise TypeError(f"matmul: a and b must be float16, got {a.dtype} and {b.dtype}")
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    if out.numel():
        args = (a.contiguous(), b.contiguous(), out, m, n, k)
        launcher.load(SOURCE).launch("fixed" if fixed else "faulty", -(-m * n // BLOCK), BLOCK, args)
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cuda_matmul_half_accumulator",
    op=matmul,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy",),
    klass="ACC",
    line="sum = (Sum)((float)sum + product);",
    source="triton-lang/triton#1960",
    promises={"dtypes": (torch.float16,)},
)
