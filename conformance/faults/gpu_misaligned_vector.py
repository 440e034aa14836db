"""Addition by vectors of four, also of tensors that do not start at a multiple of 16 bytes."""

from __future__ import annotations

import pathlib

import torch

from conformance.faults.fault import Fault
from conformance.ops import vector_add
from kernels_cuda import launcher

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 256


def _launch(name: str, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    n = out.numel()
    if n:
        launcher.load(SOURCE).launch(name, -(-n // BLOCK), BLOCK, (x, y, out, n))
    return out


def kernel(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch("faulty", x, y)


def fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch("fixed", x, y)


fault = Fault(
    name="gpu_misaligned_vector",
    op=vector_add,
    kernel=kernel,
    fixed=fixed,
    oracles=("bounds",),
    klass="ALIGN",
    line='_launch("faulty", x, y)',
    runtime="gpu",
    promises={"dtypes": (torch.float32,)},
)
