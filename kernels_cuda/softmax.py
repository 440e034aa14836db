"""Launchers of softmax.cu."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import torch

from kernels_cuda import launcher
from kernels_cuda.arguments import check_tensor, multiprocessors, row_grid, rows_of, suffix, vector_rows
from kernels_cuda.row_kernel import BLOCK_BYTES, WARP_COLUMNS, RowKernel, block_kernel, long_kernel, warp_kernel

SOURCE = pathlib.Path(__file__).with_suffix(".cu")


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of x along its last axis, contiguous; x is float16 to float64 with at least one axis, of any strides.

    Computed in float32 (float64 for float64) and rounded once. A row with NaN or +inf, or of -inf alone, is NaN, as in
    torch. Raises TypeError for another dtype, ValueError for no axis and for leading axes that collapse to more than
    eight.
    """
    _check(x)
    if x.shape[-1] <= WARP_COLUMNS:
        return softmax_warp(x)
    return softmax_block(x) if x.shape[-1] * x.element_size() <= BLOCK_BYTES else softmax_long(x)


def softmax_warp(x: torch.Tensor) -> torch.Tensor:
    """As `softmax`, by one warp a row, held in registers. Raises ValueError for more than 1024 columns."""
    _check(x)
    if x.shape[-1] > WARP_COLUMNS:
        raise ValueError(f"x must have at most {WARP_COLUMNS} columns, got {x.shape[-1]}: use softmax_block")
    return _launch(x, warp_kernel)


def softmax_block(x: torch.Tensor) -> torch.Tensor:
    """As `softmax`, by one block a row, held in registers. Raises ValueError for rows of more than 32 KiB."""
    _check(x)
    if x.shape[-1] * x.element_size() > BLOCK_BYTES:
        raise ValueError(
            f"x must have rows of at most {BLOCK_BYTES} bytes, got {x.shape[-1]} columns: use softmax_long"
        )
    return _launch(x, block_kernel)


def softmax_long(x: torch.Tensor) -> torch.Tensor:
    """As `softmax`, by one block a row of any length: an online softmax, for which a row is read twice."""
    _check(x)
    return _launch(x, long_kernel)


def _check(x: torch.Tensor) -> None:
    check_tensor("x", x)
    if x.dim() == 0:
        raise ValueError("x must have at least one axis, got a scalar")


def _launch(x: torch.Tensor, choose: Callable[..., RowKernel]) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    rows = rows_of("x", x)
    vector = vector_rows(x) and vector_rows(out)
    kernel = choose(x.shape[-1], x.element_size(), vector=vector)
    needed = -(-rows["count"] // kernel.rows)
    most = kernel.blocks and kernel.blocks * multiprocessors(x.device)
    grid = row_grid(needed, x.device) if most is None else (min(needed, most), 1)
    name = f"softmax_{kernel.kind}_{suffix(x.dtype)}"
    launcher.load(SOURCE).launch(name, grid, kernel.threads, (x, out, rows), kernel.shared)
    return out
