"""Launchers of rms_norm.cu."""

from __future__ import annotations

import pathlib

import torch

from kernels_cuda import launcher
from kernels_cuda.arguments import check_pair, check_tensor, row_grid, rows_of, suffix, vector_rows

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
WARP_COLUMNS = 1024  # 32 lanes of WARP_ITEMS elements
WARPS = 4  # rows a block of the warp kernel
LONG_ROW = 4096  # what a block of 256 holds in registers


def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """x / sqrt(mean(x * x) + eps) * w along the last axis, contiguous.

    x is float16 to float64 with at least one axis, w has the shape of its last axis and the same dtype and device;
    strides are any. Computed in float32 (float64 for float64) and rounded once. Raises TypeError for other dtypes or an
    eps that is no number, ValueError for shapes or devices that do not match, and for leading axes that collapse to
    more than eight.
    """
    _check(x, w, eps)
    return rms_norm_warp(x, w, eps) if x.shape[-1] <= WARP_COLUMNS else rms_norm_block(x, w, eps)


def rms_norm_warp(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """As `rms_norm`, by one warp a row, held in registers. Raises ValueError for more than 1024 columns."""
    _check(x, w, eps)
    if x.shape[-1] > WARP_COLUMNS:
        raise ValueError(f"x must have at most {WARP_COLUMNS} columns, got {x.shape[-1]}: use rms_norm_block")
    return _launch("warp", x, w, eps, 32 * WARPS, WARPS)


def rms_norm_block(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """As `rms_norm`, by one block a row of any length."""
    _check(x, w, eps)
    return _launch("block", x, w, eps, 256 if x.shape[-1] <= LONG_ROW else 512, 1)


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


def _launch(kind: str, x: torch.Tensor, w: torch.Tensor, eps: float, block: int, rows_per_block: int) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    rows = rows_of("x", x)
    grid = row_grid(-(-rows["count"] // rows_per_block))
    access = "vector" if vector_rows(x) and vector_rows(w) and vector_rows(out) else "any"
    args = (x, w, out, rows, w.stride(0), eps)
    launcher.load(SOURCE).launch(f"rms_norm_{kind}_{access}_{suffix(x.dtype)}", grid, block, args)
    return out
