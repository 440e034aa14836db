"""Grouped matrix product that takes its last group to be full: some tiles are missed, some left over."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import matmul
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(
    a_ptr, b_ptr, out_ptr, M, N, K, tiles_m, tiles_n, GROUP: tl.constexpr, FIXED: tl.constexpr,
    COMPUTE: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    in_group = GROUP * tiles_n
    first = program // in_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP) if FIXED else GROUP
    m = (first + program % in_group % height) * BLOCK + tl.arange(0, BLOCK)
    n = program % in_group // height * BLOCK + tl.arange(0, BLOCK)
    live = (m < M)[:, None] & (n < N)[None, :]
    total = tl.zeros((BLOCK, BLOCK), COMPUTE)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
        total += tl.dot(a, b, input_precision="ieee", out_dtype=COMPUTE)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total.to(out_ptr.dtype.element_ty), mask=live)


def _launch(a: torch.Tensor, b: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("matmul", a=a, b=b)
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((M, N), dtype=a.dtype, device=a.device)
    tiles_m, tiles_n = triton.cdiv(M, 16), triton.cdiv(N, 16)
    if out.numel():
        _kernel[(tiles_m * tiles_n,)](
            a.contiguous(), b.contiguous(), out, M, N, K, tiles_m, tiles_n,
            GROUP=2, FIXED=fixed, COMPUTE=COMPUTE[a.dtype], BLOCK=16, BLOCK_K=16,
        )  # fmt: skip
    return out


def _faulty(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _launch(a, b, fixed=False)


def _fixed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _launch(a, b, fixed=True)


fault = Fault(
    name="matmul_group_not_clipped",
    op=matmul,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("written",),
    klass="LOGIC",
    line="if FIXED else GROUP",
    source="",
)
