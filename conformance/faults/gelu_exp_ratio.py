"""GELU whose tanh is a ratio of exponentials that both overflow: inf / inf."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_flat
from conformance.ops import gelu_tanh


@triton.jit
def _kernel(x_ptr, out_ptr, n, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(COMPUTE)
    # tanh(u) = 1 - 2 / (exp(2u) + 1), so that x (1 + tanh(u)) / 2 = x sigmoid(2u)
    u = tl.full((1,), 0.7978845608028654, COMPUTE) * (x + tl.full((1,), 0.044715, COMPUTE) * x * x * x)
    if FIXED:
        small = tl.exp(-2.0 * tl.abs(u))
        half = tl.where(u < 0, small / (1.0 + small), 1.0 / (1.0 + small))
    else:
        half = 0.5 + 0.5 * (tl.exp(u) - tl.exp(-u)) / (tl.exp(u) + tl.exp(-u))
    tl.store(out_ptr + i, (x * half).to(out_ptr.dtype.element_ty), mask=i < n)


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, fixed=True)


fault = Fault(
    name="gelu_exp_ratio",
    op=gelu_tanh,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="STAB",
    line="tl.exp(u) - tl.exp(-u)",
    source="vllm-project/vllm#56578",
)
