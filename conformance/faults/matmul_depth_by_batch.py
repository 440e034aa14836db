"""Matrix product whose block in K, and so the order of its sum, depends on how many rows there are."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.op import Op
from conformance.ops import matmul
from kernels_triton.arguments import COMPUTE, check_tensors

# the shipped op leaves the config free; this kernel promises one order of summation for every row
_matmul_of_rows = Op(matmul.reference, matmul.inputs, independent="m", exact=True, name="matmul")


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
            GROUP=2, FIXED=True, COMPUTE=COMPUTE[a.dtype], BLOCK=16, BLOCK_K=32 if fixed or M > 1 else 16,
        )  # fmt: skip
    return out


def _faulty(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _launch(a, b, fixed=False)


def _fixed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _launch(a, b, fixed=True)


fault = Fault(
    name="matmul_depth_by_batch",
    op=_matmul_of_rows,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("batch_invariance",),
    klass="BATCH",
    line="32 if fixed or M > 1 else 16",
    source="vllm-project/vllm#30528",
    promises={"order": "any"},
)
