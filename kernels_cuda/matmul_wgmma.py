"""Launcher of matmul_wgmma.cu: the matrix product on the Tensor Cores of compute capability 9.0."""

from __future__ import annotations

import functools
import pathlib

import torch

from kernels_cuda import launcher
from kernels_cuda.arguments import VECTOR_BYTES, aligned, check_product, multiprocessors, suffix
from kernels_cuda.tensor_map import LARGEST_PITCH, LARGEST_SIZE

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
HALVES = (torch.float16, torch.bfloat16)
CAPABILITY = (9, 0)  # wgmma is an instruction of sm_90a alone
BLOCK = 288  # CONSUMER_WARPS and one warp of which the producer is a thread
TILE = (128, 256)  # WGMMA_BM, WGMMA_BN
DEPTH = 64  # WGMMA_BK
BOX = 64  # columns of a box
# WGMMA_STAGES stages of a 128 x 64 and a 64 x 256 tile of two bytes, with two barriers of eight
SHARED = 4 * ((128 * 64 + 64 * 256) * 2 + 2 * 8)


def matmul_wgmma(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As `matmul`, by wgmma and the copy engine, for float16 and bfloat16; 128 x 256 tiles in four stages.

    An operand whose rows are not contiguous at multiples of 16 bytes is copied first. Raises TypeError for other
    dtypes, ValueError for shapes that do not match, for axes of 2**31 elements and more, and on a device of another
    compute capability than 9.0.
    """
    check_product(a, b, HALVES)
    if a.is_cuda and not supported(a.device):
        raise ValueError(f"a lies on {a.device}, which is not of compute capability 9.0: use matmul_wmma")
    (m, k), n = a.shape, b.shape[1]
    if max(m, n, k) >= LARGEST_SIZE:
        raise ValueError(f"a and b must have axes shorter than 2**31, got {tuple(a.shape)} and {tuple(b.shape)}")
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    if out.numel() == 0:
        return out
    if k == 0:
        return out.zero_()  # a tensor map has no empty axis
    tiles = -(-m // TILE[0]) * -(-n // TILE[1])
    a_rows, b_rows = _rows(a), _rows(b)
    maps = (launcher.tensor_map(a_rows, TILE[0], BOX), launcher.tensor_map(b_rows, DEPTH, BOX))
    c_vector = n % (VECTOR_BYTES // out.element_size()) == 0 and aligned(out)
    args = (*maps, out, m, n, k, c_vector)
    grid = min(tiles, multiprocessors(a.device))  # the stages take nearly all of a multiprocessor's shared memory
    launcher.load(SOURCE).launch(f"matmul_wgmma_{suffix(a.dtype)}", grid, BLOCK, args, SHARED)
    return out


@functools.cache
def supported(device: torch.device) -> bool:
    """Whether a device has wgmma."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) == CAPABILITY


def _rows(x: torch.Tensor) -> torch.Tensor:
    """The matrix itself where the copy engine can read it row by row, else a copy with aligned rows."""
    (rows, columns), pitch, pack = x.shape, x.stride(0), VECTOR_BYTES // x.element_size()
    apart = columns <= pitch < LARGEST_PITCH // x.element_size()  # expanded rows lie on top of each other
    if x.stride(1) == 1 and aligned(x) and (rows == 1 or (apart and pitch % pack == 0)):
        return x
    padded = torch.empty((rows, -(-columns // pack) * pack), dtype=x.dtype, device=x.device)
    return padded[:, :columns].copy_(x)
