"""Addition that asks for a workspace of sixteen terabytes."""

from __future__ import annotations

import torch

from conformance.faults.fault import Fault
from conformance.ops import vector_add

# Small tensors are added as they should be, so that a shrunk call says where the fault begins.
_LARGEST = 64


def kernel(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.numel() > _LARGEST:
        torch.empty(1 << 44, dtype=torch.uint8, device=x.device)
    return x + y


def fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


fault = Fault(
    name="gpu_out_of_memory",
    op=vector_add,
    kernel=kernel,
    fixed=fixed,
    oracles=("crash",),
    klass="LOGIC",
    line="1 << 44",
    runtime="gpu",
)
