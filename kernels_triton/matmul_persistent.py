"""Matrix product in half precision by a persistent kernel on tensor descriptors, as Triton's tutorial 09 has it."""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels_triton.arguments import check_matrices

HALVES = (torch.float16, torch.bfloat16)
CONFIG = triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}, num_stages=3, num_warps=8)
"""The fastest of twelve configs for 4096**3 and 8192**3 on an H200."""

ROW_BYTES = 16
"""A descriptor's rows start at multiples of it (CUDA driver API, cuTensorMapEncodeTiled)."""


@triton.jit
def _persistent_matmul_kernel(
    a_desc, b_desc, out_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    PROGRAMS: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    # flattened, the loads of the next tile start before this one is stored
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        # tiles go GROUP_M down before one to the right, so that those in flight share rows and columns in L2
        group = tile // (GROUP_M * tiles_n)
        first_m = group * GROUP_M
        height = tl.minimum(tiles_m - first_m, GROUP_M)
        in_group = tile - group * (GROUP_M * tiles_n)
        m = (first_m + in_group % height) * BLOCK_M
        n = (in_group // height) * BLOCK_N
        accumulator = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K, BLOCK_K):
            accumulator = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), accumulator)
        # in halves: with the whole tile there would be no shared memory for a third stage
        halves = tl.permute(tl.reshape(accumulator, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
        left, right = tl.split(halves)
        out_desc.store([m, n], left.to(out_desc.dtype))
        out_desc.store([m, n + BLOCK_N // 2], right.to(out_desc.dtype))


def matmul_persistent(a: torch.Tensor, b: torch.Tensor, *, config: triton.Config | None = None) -> torch.Tensor:
    """As `matmul`, for float16 and bfloat16, by one program a multiprocessor that takes tile after tile.

    An operand whose rows are not contiguous at multiples of 16 bytes is copied first, and so is a result. `config`
    fixes BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, warps and stages; the default is `CONFIG`.

    Raises:
        TypeError: an argument is no tensor of a supported dtype, or the dtypes differ.
        ValueError: a rank is not 2, shapes do not fit, devices differ, or a device has no descriptors.
    """
    check_matrices("matmul_persistent", a, b, dtypes=HALVES)
    if a.is_cuda and not supported(a.device):
        raise ValueError(f"matmul_persistent: {a.device} is not of compute capability 9.0 or later; use matmul")
    (M, K), N = a.shape, b.shape[1]
    if min(M, N) == 0 or K == 0:  # a descriptor has no empty axis
        return torch.zeros((M, N), dtype=a.dtype, device=a.device)
    out = _aligned(M, N, a)
    blocks = (config or CONFIG).all_kwargs()
    height, width, depth = blocks["BLOCK_M"], blocks["BLOCK_N"], blocks["BLOCK_K"]
    programs = min(triton.cdiv(M, height) * triton.cdiv(N, width), _multiprocessors(a.device))
    with torch.cuda.device_of(a):
        _persistent_matmul_kernel[(programs,)](
            TensorDescriptor.from_tensor(_rows(a), [height, depth]),
            TensorDescriptor.from_tensor(_rows(b), [depth, width]),
            TensorDescriptor.from_tensor(out, [height, width // 2]),
            M, N, K, PROGRAMS=programs, **blocks,
        )  # fmt: skip
    return out.contiguous()


@functools.cache
def supported(device: torch.device) -> bool:
    """Whether a device has the copy engine that descriptors are for."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (9, 0)


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    """One where there is no device, so that a program has every tile of a small product."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 1


def _aligned(rows: int, columns: int, like: torch.Tensor) -> torch.Tensor:
    """A new matrix whose rows start at multiples of `ROW_BYTES`."""
    pack = ROW_BYTES // like.element_size()
    return torch.empty((rows, triton.cdiv(columns, pack) * pack), dtype=like.dtype, device=like.device)[:, :columns]


def _rows(x: torch.Tensor) -> torch.Tensor:
    """The matrix itself where a descriptor can describe it, else a copy with aligned rows."""
    apart = x.stride(0) >= x.shape[1] and x.stride(0) * x.element_size() % ROW_BYTES == 0
    if x.stride(1) == 1 and apart and x.data_ptr() % ROW_BYTES == 0:
        return x
    return _aligned(x.shape[0], x.shape[1], x).copy_(x)
