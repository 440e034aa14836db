"""Launchers of softmax.cu."""

from __future__ import annotations

import pathlib

import torch

from kernels_cuda import launcher
from kernels_cuda.arguments import check_tensor, row_grid, rows_of, suffix, vector_rows

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
WARP_COLUMNS = 1024  # 32 lanes of WARP_ITEMS elements
WARPS = 4  # rows a block of the warp kernel
LONG_ROW = 4096  # what a block of 256 holds in registers


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of x along its last axis, contiguous; x is float16 to float64 with at least one axis, of any strides.

    Computed in float32 (float64 for float64) and rounded once. A row with NaN or +inf, or of -inf alone, is NaN, as in
    torch. Raises TypeError for another dtype, ValueError for no axis and for leading axes that collapse to more than
    eight.
    """
    _check(x)
    return softmax_warp(x) if x.shape[-1] <= WARP_COLUMNS else softmax_block(x)


def softmax_warp(x: torch.Tensor) -> torch.Tensor:
    """As `softmax`, by one warp a row, held in registers. Raises ValueError for more than 1024 columns."""
    _check(x)
    if x.shape[-1] > WARP_COLUMNS:
        raise ValueError(f"x must have at most {WARP_COLUMNS} columns, got {x.shape[-1]}: use softmax_block")
    return _launch("warp", x, 32 * WARPS, WARPS)


def softmax_block(x: torch.Tensor) -> torch.Tensor:
    """As `softmax`, by one block a row of any length (an online softmax beyond what its registers hold)."""
    _check(x)
    return _launch("block", x, 256 if x.shape[-1] <= LONG_ROW else 512, 1)


def _check(x: torch.Tensor) -> None:
    check_tensor("x", x)
    if x.dim() == 0:
        raise ValueError("x must have at least one axis, got a scalar")


def _launch(kind: str, x: torch.Tensor, block: int, rows_per_block: int) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    rows = rows_of("x", x)
    grid = row_grid(-(-rows["count"] // rows_per_block))
    access = "vector" if vector_rows(x) and vector_rows(out) else "any"
    launcher.load(SOURCE).launch(f"softmax_{kind}_{access}_{suffix(x.dtype)}", grid, block, (x, out, rows))
    return out
