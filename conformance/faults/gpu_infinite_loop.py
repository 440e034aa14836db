"""Addition that waits for a flag which no program sets, as split-K kernels wait for each other."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_flat
from conformance.ops import vector_add


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, flag_ptr, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    seen = tl.atomic_add(flag_ptr, 1 if FIXED else 0)
    while (seen < 0 if FIXED else seen == 0) & (n > 100):
        seen = tl.atomic_add(flag_ptr, 0)
    x = tl.load(x_ptr + i, mask=live).to(COMPUTE)
    y = tl.load(y_ptr + i, mask=live).to(COMPUTE)
    tl.store(out_ptr + i, (x + y).to(out_ptr.dtype.element_ty), mask=live)


def _launch(x: torch.Tensor, y: torch.Tensor, fixed: bool) -> torch.Tensor:
    flag = torch.zeros(1, dtype=torch.int32, device=x.device)
    return launch_flat(_kernel, x, y, scalars=(flag,), fixed=fixed)


def kernel(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, False)


def fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, True)


fault = Fault(
    name="gpu_infinite_loop",
    op=vector_add,
    kernel=kernel,
    fixed=fixed,
    oracles=("crash",),
    klass="LOGIC",
    line="1 if FIXED else 0",
    runtime="gpu",
)
