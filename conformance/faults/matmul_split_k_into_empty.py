"""Split-K matrix product that adds into memory which nobody set to 0."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import matmul
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(a_ptr, b_ptr, out_ptr, M, N, K, part, COMPUTE: tl.constexpr, ADD: tl.constexpr, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first = tl.program_id(2) * part
    end = tl.minimum(first + part, K)
    live = (m < M)[:, None] & (n < N)[None, :]
    total = tl.zeros((BLOCK, BLOCK), COMPUTE)
    for start in range(first, end, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < end)[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k < end)[:, None] & (n < N)[None, :], other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=COMPUTE)
    out_ptrs = out_ptr + m[:, None] * N + n[None, :]
    if ADD == "atomic":
        tl.atomic_add(out_ptrs, total, mask=live)
    else:
        tl.store(out_ptrs, tl.load(out_ptrs, mask=live) + total, mask=live)


def _launch(a: torch.Tensor, b: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("matmul", a=a, b=b)
    (M, K), N = a.shape, b.shape[1]
    a, b = a.contiguous(), b.contiguous()
    accumulator = torch.float64 if a.dtype == torch.float64 else torch.float32
    out = (torch.zeros if fixed else torch.empty)((M, N), dtype=accumulator, device=a.device)
    part = 32
    if out.numel():
        _kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16), max(1, triton.cdiv(K, part)))](
            a, b, out, M, N, K, part, COMPUTE=COMPUTE[a.dtype], ADD="atomic", BLOCK=16
        )
    return out.to(a.dtype)


def _faulty(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _launch(a, b, fixed=False)


def _fixed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _launch(a, b, fixed=True)


fault = Fault(
    name="matmul_split_k_into_empty",
    op=matmul,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("written",),
    klass="INIT",
    line="torch.zeros if fixed else torch.empty",
    source="triton-lang/triton#2183",
    promises={"order": "any", "deterministic": False, "batch_invariant": False},
)
