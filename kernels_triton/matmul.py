"""Matrix product, tiled, with grouped program order."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from kernels_triton.arguments import COMPUTE, check_matrices
from kernels_triton.matmul_persistent import HALVES, matmul_persistent, supported

PRECISIONS = ("ieee", "tf32", "tf32x3")


def _config(block_m: int, block_n: int, block_k: int, stages: int, warps: int) -> triton.Config:
    blocks = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 8}
    return triton.Config(blocks, num_stages=stages, num_warps=warps)


SMALL_CONFIG = _config(32, 32, 32, stages=2, warps=4)
"""For problems too small to be worth a tuning run, and for every interpreted one."""

TENSOR_CORE_CONFIGS = [
    _config(128, 256, 64, stages=3, warps=8),
    _config(128, 256, 64, stages=4, warps=8),
    _config(256, 128, 64, stages=3, warps=8),
    _config(128, 128, 64, stages=4, warps=4),
    _config(128, 128, 64, stages=3, warps=8),
    _config(128, 128, 32, stages=4, warps=8),
    _config(64, 128, 64, stages=4, warps=4),
    _config(64, 64, 64, stages=4, warps=4),
]
"""Half precision: tiles that one (4 warps) or two (8 warps) Hopper warp groups feed to wgmma."""

TF32_CONFIGS = [
    _config(128, 256, 32, stages=3, warps=8),
    _config(128, 128, 32, stages=4, warps=8),
    _config(128, 128, 32, stages=3, warps=4),
    _config(64, 128, 32, stages=4, warps=4),
    _config(64, 64, 32, stages=4, warps=4),
]
"""float32 on tensor cores: half the depth, since 227 KiB of shared memory hold half as many values."""

FULL_PRECISION_CONFIGS = [
    _config(64, 64, 16, stages=3, warps=4),
    _config(64, 64, 32, stages=2, warps=8),
    _config(32, 64, 32, stages=2, warps=4),
]
"""float32 in full precision and float64: small tiles, since each accumulator is a register of an FMA unit."""

TUNED_FROM = 2**24
"""Multiplications from which a tuning run pays: below (256**3) every config takes about a launch's latency."""

PERSISTENT_FROM = 2**33
"""Multiplications from which a product has enough tiles of 128 x 256 for every multiprocessor (2048**3)."""


@triton.heuristics(
    {
        "EVEN_M": lambda args: args["M"] % args["BLOCK_M"] == 0,
        "EVEN_N": lambda args: args["N"] % args["BLOCK_N"] == 0,
        "EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0,
    }
)
@triton.jit
def _matmul_kernel(
    a_ptr, b_ptr, out_ptr, M, N, K,
    a_stride_m, a_stride_k, b_stride_k, b_stride_n, out_stride_m,
    ACCUMULATOR: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    EVEN_M: tl.constexpr, EVEN_N: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    # programs walk GROUP_M tiles down before one to the right, so that those in flight share rows and columns in L2
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    group = program // (GROUP_M * tiles_n)
    first_m = group * GROUP_M
    height = tl.minimum(tiles_m - first_m, GROUP_M)
    in_group = program - group * (GROUP_M * tiles_n)
    m = (first_m + in_group % height) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = (in_group // height) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    wide_k = k.to(tl.int64)
    a_ptrs = a_ptr + m.to(tl.int64)[:, None] * a_stride_m + wide_k[None, :] * a_stride_k
    b_ptrs = b_ptr + wide_k[:, None] * b_stride_k + n.to(tl.int64)[None, :] * b_stride_n
    step = tl.full((1, 1), BLOCK_K, tl.int64)
    live_m = (m < M)[:, None]
    live_n = (n < N)[None, :]
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), ACCUMULATOR)
    for start in range(0, K, BLOCK_K):
        if EVEN_M and EVEN_K:
            a = tl.load(a_ptrs)
        elif EVEN_K:
            a = tl.load(a_ptrs, mask=live_m, other=0.0)
        else:
            a = tl.load(a_ptrs, mask=live_m & (k < K - start)[None, :], other=0.0)
        if EVEN_N and EVEN_K:
            b = tl.load(b_ptrs)
        elif EVEN_K:
            b = tl.load(b_ptrs, mask=live_n, other=0.0)
        else:
            b = tl.load(b_ptrs, mask=(k < K - start)[:, None] & live_n, other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision=PRECISION, out_dtype=ACCUMULATOR)
        a_ptrs += step * a_stride_k
        b_ptrs += step * b_stride_k
    out_ptrs = out_ptr + m.to(tl.int64)[:, None] * out_stride_m + n[None, :]
    tl.store(out_ptrs, accumulator.to(out_ptr.dtype.element_ty), mask=live_m & live_n)


_half_precision = triton.autotune(configs=TENSOR_CORE_CONFIGS, key=["M", "N", "K"])(_matmul_kernel)
_tf32 = triton.autotune(configs=TF32_CONFIGS, key=["M", "N", "K"])(_matmul_kernel)
_full_precision = triton.autotune(configs=FULL_PRECISION_CONFIGS, key=["M", "N", "K"])(_matmul_kernel)


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    input_precision: str = "ieee",
    config: triton.Config | None = None,
    tune: bool | None = None,
) -> torch.Tensor:
    """The matrix product `a @ b`, contiguous, accumulated in float32 (float64 for float64) and rounded once.

    `a` is (M, K), `b` (K, N), any strides; float16, bfloat16, float32 or float64; K = 0 gives zeros. `input_precision`
    is what float32 operands keep: "ieee" all of it, "tf32" 10 bits, "tf32x3" nearly all, on tensor cores. `config`
    fixes BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, warps and stages, and so the order of summation; without it, `tune` says
    whether to take the fastest config, found at the first call of a shape, or `SMALL_CONFIG`. The default tunes on a
    GPU from `TUNED_FROM` multiplications on, but leaves half precision to `matmul_persistent` from `PERSISTENT_FROM` on
    where the device has what that needs.

    Raises:
        TypeError: an argument is no tensor of a supported dtype, or the dtypes differ.
        ValueError: a rank is not 2, shapes do not fit, devices differ, or `input_precision` is not in `PRECISIONS`.
    """
    check_matrices("matmul", a, b)
    if input_precision not in PRECISIONS:
        raise ValueError(f"matmul: input_precision is {input_precision!r}; it must be one of {', '.join(PRECISIONS)}")
    (M, K), N = a.shape, b.shape[1]
    if config is None and tune is None and a.dtype in HALVES and supported(a.device) and M * N * K >= PERSISTENT_FROM:
        return matmul_persistent(a, b)
    out = torch.empty((M, N), dtype=a.dtype, device=a.device)
    if out.numel() == 0:
        return out
    if a.dtype != torch.float32:
        input_precision = "ieee"  # it has a meaning for float32 alone, and would only compile the same kernel twice
    arguments = (a, b, out, M, N, K, *a.stride(), *b.stride(), N)
    constants: dict[str, Any] = {"ACCUMULATOR": COMPUTE[a.dtype], "PRECISION": input_precision}

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    with torch.cuda.device_of(a):
        if config is None and (a.is_cuda and M * N * K >= TUNED_FROM if tune is None else tune):
            single = _full_precision if input_precision == "ieee" else _tf32
            tuned = _half_precision if a.dtype in HALVES else single
            tuned[grid](*arguments, **constants)
        else:
            _matmul_kernel[grid](*arguments, **constants, **(config or SMALL_CONFIG).all_kwargs())
    return out
