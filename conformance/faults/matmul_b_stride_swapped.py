"""Matrix product that takes K for the row stride of b, which is N."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_tiles
from conformance.ops import matmul


@triton.jit
def _kernel(a_ptr, b_ptr, out_ptr, M, N, K, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live_m = (m < M)[:, None]
    live_n = (n < N)[None, :]
    total = tl.zeros((BLOCK, BLOCK), COMPUTE)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=live_m & (k < K)[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * (N if FIXED else K) + n[None, :], mask=(k < K)[:, None] & live_n, other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=COMPUTE)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total.to(out_ptr.dtype.element_ty), mask=live_m & live_n)


def _faulty(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return launch_tiles(_kernel, a, b, fixed=False)


def _fixed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return launch_tiles(_kernel, a, b, fixed=True)


fault = Fault(
    name="matmul_b_stride_swapped",
    op=matmul,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("bounds", "accuracy"),
    klass="LAY",
    line="(N if FIXED else K)",
    source="pytorch/pytorch#147828",
)
