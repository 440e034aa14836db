"""Addition whose launcher follows a null pointer on the host."""

from __future__ import annotations

import ctypes

import torch

from conformance.faults.fault import Fault
from conformance.ops import vector_add

# Small tensors are added as they should be, so that a shrunk call says where the fault begins.
_LARGEST = 64


def kernel(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.numel() > _LARGEST:
        ctypes.string_at(0)
    return x + y


def fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


fault = Fault(
    name="gpu_host_segfault",
    op=vector_add,
    kernel=kernel,
    fixed=fixed,
    oracles=("crash",),
    klass="LOGIC",
    line="ctypes.string_at(0)",
    runtime="gpu",
)
