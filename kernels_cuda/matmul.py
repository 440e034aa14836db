"""Launchers of matmul.cu: steps from a naive kernel to Tensor Cores; matmul_wgmma.py has the last one."""

from __future__ import annotations

import pathlib

import torch

from kernels_cuda import launcher
from kernels_cuda.arguments import GRID_WIDTH, VECTOR_BYTES, aligned, check_product, pitched, suffix
from kernels_cuda.matmul_wgmma import HALVES, matmul_wgmma, supported
from kernels_cuda.tensor_map import LARGEST_SIZE

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 256
# WMMA_STAGES stages of a 128 x 40 and a 32 x 136 tile of two bytes
WMMA_SHARED = 4 * (128 * 40 + 32 * 136) * 2


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a (m, k) times b (k, n), contiguous (m, n); one dtype, float16 to float64, one device, any strides.

    Sums in float32 (float64 for float64) and rounds once: Tensor Cores for float16 and bfloat16 (`matmul_wgmma` where
    the device has it, else `matmul_wmma`), `matmul_async` for the others, never TF32. Raises TypeError for dtypes that
    differ or are not supported, ValueError for shapes or devices that do not match.
    """
    check_product(a, b)
    if a.dtype not in HALVES:
        return matmul_async(a, b)
    wgmma = supported(a.device) and max(*a.shape, *b.shape) < LARGEST_SIZE
    return matmul_wgmma(a, b) if wgmma else matmul_wmma(a, b)


def matmul_naive(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As `matmul`, by one thread an element."""
    check_product(a, b)
    out = _out(a, b)
    if out.numel():
        grid = min(-(-out.numel() // BLOCK), GRID_WIDTH)
        launcher.load(SOURCE).launch(f"matmul_naive_{suffix(a.dtype)}", grid, BLOCK, (a, b, out, _problem(a, b)))
    return out


def matmul_tiled(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As `matmul`, with 16 x 16 tiles in shared memory."""
    check_product(a, b)
    return _tiles("tiled", a, b, 16)


def matmul_registers(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As `matmul`, with 64 x 64 tiles and 4 x 4 sums in each thread's registers."""
    check_product(a, b)
    return _tiles("registers", a, b, 64)


def matmul_async(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As `matmul`, with tiles that cp.async copies while the block multiplies (128 x 128; float64: 64 x 64)."""
    check_product(a, b)
    return _tiles("async", a, b, 64 if a.dtype == torch.float64 else 128, pitched(a), pitched(b))


def matmul_wmma(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As `matmul`, on Tensor Cores, for float16 and bfloat16; 128 x 128 tiles in four stages of cp.async."""
    check_product(a, b, HALVES)
    c_vector = b.shape[1] % (VECTOR_BYTES // b.element_size()) == 0
    return _tiles("wmma", a, b, 128, pitched(a), pitched(b), c_vector, shared=WMMA_SHARED)


def _out(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)


def _problem(a: torch.Tensor, b: torch.Tensor) -> dict[str, int]:
    (m, k), n = a.shape, b.shape[1]
    (a_row, a_col), (b_row, b_col) = a.stride(), b.stride()
    return {"m": m, "n": n, "k": k, "a_row": a_row, "a_col": a_col, "b_row": b_row, "b_col": b_col}


def _tiles(step: str, a: torch.Tensor, b: torch.Tensor, side: int, *vector: bool, shared: int = 0) -> torch.Tensor:
    out = _out(a, b)
    if out.numel() == 0:
        return out
    grid = -(-out.shape[0] // side) * -(-out.shape[1] // side)
    if len(vector) == 3:
        vector = (*vector[:2], vector[2] and aligned(out))
    args = (a, b, out, _problem(a, b), *vector)
    launcher.load(SOURCE).launch(f"matmul_{step}_{suffix(a.dtype)}", grid, BLOCK, args, shared)
    return out
