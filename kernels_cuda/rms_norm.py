"""Launchers of rms_norm.cu."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import torch

from kernels_cuda import launcher
from kernels_cuda.arguments import check_pair, check_tensor, multiprocessors, row_grid, rows_of, suffix, vector_rows
from kernels_cuda.row_kernel import BLOCK_BYTES, WARP_COLUMNS, RowKernel, block_kernel, long_kernel, warp_kernel

SOURCE = pathlib.Path(__file__).with_suffix(".cu")


def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """x / sqrt(mean(x * x) + eps) * w along the last axis, contiguous.

    x is float16 to float64 with at least one axis, w has the shape of its last axis and the same dtype and device;
    strides are any. Computed in float32 (float64 for float64) and rounded once. Raises TypeError for other dtypes or an
    eps that is no number, ValueError for shapes or devices that do not match, and for leading axes that collapse to
    more than eight.
    """
    _check(x, w, eps)
    if x.shape[-1] <= WARP_COLUMNS:
        return rms_norm_warp(x, w, eps)
    return rms_norm_block(x, w, eps) if x.shape[-1] * x.element_size() <= BLOCK_BYTES else rms_norm_long(x, w, eps)


def rms_norm_warp(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """As `rms_norm`, by one warp a row, held in registers. Raises ValueError for more than 1024 columns."""
    _check(x, w, eps)
    if x.shape[-1] > WARP_COLUMNS:
        raise ValueError(f"x must have at most {WARP_COLUMNS} columns, got {x.shape[-1]}: use rms_norm_block")
    return _launch(x, w, eps, warp_kernel)


def rms_norm_block(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """As `rms_norm`, by one block a row, held in registers. Raises ValueError for rows of more than 32 KiB."""
    _check(x, w, eps)
    if x.shape[-1] * x.element_size() > BLOCK_BYTES:
        raise ValueError(
            f"x must have rows of at most {BLOCK_BYTES} bytes, got {x.shape[-1]} columns: use rms_norm_long"
        )
    return _launch(x, w, eps, block_kernel)


def rms_norm_long(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """As `rms_norm`, by one block a row of any length, which is read twice."""
    _check(x, w, eps)
    return _launch(x, w, eps, long_kernel)


def _check(x: torch.Tensor, w: torch.Tensor, eps: float) -> None:
    check_tensor("x", x)
    check_tensor("w", w, dims=1)
    check_pair("x", x, "w", w)
    if x.dim() == 0:
        raise ValueError("x must have at least one axis, got a scalar")
    if w.shape[0] != x.shape[-1]:
        raise ValueError(f"w must have the {x.shape[-1]} elements of x's last axis, got {w.shape[0]}")
    if isinstance(eps, bool) or not isinstance(eps, (int, float)):
        raise TypeError(f"eps must be a number, got {type(eps).__name__}")


def _launch(x: torch.Tensor, w: torch.Tensor, eps: float, choose: Callable[..., RowKernel]) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    rows = rows_of("x", x)
    vector = vector_rows(x) and vector_rows(w) and vector_rows(out)
    kernel = choose(x.shape[-1], x.element_size(), vector=vector)
    needed = -(-rows["count"] // kernel.rows)
    most = kernel.blocks and kernel.blocks * multiprocessors(x.device)
    grid = row_grid(needed, x.device) if most is None else (min(needed, most), 1)
    name = f"rms_norm_{kernel.kind}_{suffix(x.dtype)}"
    launcher.load(SOURCE).launch(name, grid, kernel.threads, (x, w, out, rows, w.stride(0), eps), kernel.shared)
    return out
