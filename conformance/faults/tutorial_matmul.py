"""The matrix product of a first Triton lesson: TF32 for float32 on a GPU, a float32 accumulator for float64."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import kernels_triton
from conformance.faults.fault import Fault
from conformance.ops import matmul


@triton.jit
def _kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_stride_m, a_stride_k, b_stride_k, b_stride_n, c_stride_m, c_stride_n,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    in_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first_m = program // in_group * GROUP_M
    height = min(tiles_m - first_m, GROUP_M)
    m = (first_m + program % in_group % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = program % in_group // height * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + m[:, None] * a_stride_m + k[None, :] * a_stride_k
    b_ptrs = b_ptr + k[:, None] * b_stride_k + n[None, :] * b_stride_n
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        left = K - step * BLOCK_K
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * a_stride_k
        b_ptrs += BLOCK_K * b_stride_k
    c_ptrs = c_ptr + m[:, None] * c_stride_m + n[None, :] * c_stride_n
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def _faulty(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    _kernel[(triton.cdiv(M, 64) * triton.cdiv(N, 64),)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=8
    )
    return c


fault = Fault(
    name="tutorial_matmul",
    op=matmul,
    kernel=_faulty,
    fixed=kernels_triton.matmul,
    oracles=("accuracy", "offsets", "crash"),
    klass="ACC",
    line="total = tl.dot(a, b, total)",
    source="triton-lang/triton#2042",
)
