"""Addition that clears the element before the first one of its result."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_flat
from conformance.ops import vector_add


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    x = tl.load(x_ptr + i, mask=live).to(COMPUTE)
    y = tl.load(y_ptr + i, mask=live).to(COMPUTE)
    tl.store(out_ptr + i, (x + y).to(out_ptr.dtype.element_ty), mask=live)
    if not FIXED:
        tl.store(out_ptr + i - 1, tl.zeros((BLOCK,), out_ptr.dtype.element_ty), mask=i == 0)


def kernel(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=False)


def fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=True)


fault = Fault(
    name="gpu_write_before_start",
    op=vector_add,
    kernel=kernel,
    fixed=fixed,
    oracles=("bounds", "inputs_kept"),
    klass="OOBW",
    line="out_ptr + i - 1",
    source="",
    runtime="gpu",
)
