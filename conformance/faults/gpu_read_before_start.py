"""Addition that also reads the element before the first one of x, and throws it away."""

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
    # volatile, so that the compiler keeps a load that nothing uses
    tl.load(x_ptr + i - 1, mask=live & (i > 0) if FIXED else live, volatile=True)
    tl.store(out_ptr + i, (x + y).to(out_ptr.dtype.element_ty), mask=live)


def kernel(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=False)


def fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return launch_flat(_kernel, x, y, fixed=True)


fault = Fault(
    name="gpu_read_before_start",
    op=vector_add,
    kernel=kernel,
    fixed=fixed,
    oracles=("bounds",),
    klass="OOBR",
    line="live & (i > 0) if FIXED else live",
    source="",
    runtime="gpu",
)
