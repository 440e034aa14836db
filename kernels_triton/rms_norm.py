"""Root-mean-square normalization over the last axis (Zhang and Sennrich, arXiv 1910.07467)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels_triton.arguments import COMPUTE, check_tensors, row_tile

ROW_BYTES = 2**17  # of a row kept in registers, in the compute dtype: half of a Hopper SM's register file
LOOP_BLOCK = 16384  # of columns; half as many in half precision (the faster of each, of five on an H200)
LOOP_WARPS = 32  # all that a program may have: so few rows are under way that L2 holds them until they are read again


@triton.jit
def _root(x):
    # tl.sqrt of float32 is sqrt.approx.ftz, which takes subnormals for 0; tl.sqrt_rn exists for float32 alone
    if x.dtype == tl.float32:
        return tl.sqrt_rn(x)
    else:  # noqa: RET505  (both branches belong to the static choice: a compiled kernel has one of them)
        return tl.sqrt(x)


@triton.jit
def _rms_norm_kernel(
    x_ptr, w_ptr, out_ptr, rows, columns, x_row_stride, x_column_stride, w_stride, out_row_stride,
    eps: tl.float64,  # a scalar without a type reaches a compiled kernel in single precision
    COMPUTE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    live = (row < rows) & (column < columns)
    wide = column.to(tl.int64)
    x = tl.load(x_ptr + row * x_row_stride + wide * x_column_stride, mask=live, other=0.0).to(COMPUTE)
    mean_square = tl.sum(x * x, axis=1) / columns
    scale = 1.0 / _root(mean_square + tl.full((1,), eps, COMPUTE))
    w = tl.load(w_ptr + wide * w_stride, mask=column < columns, other=0.0).to(COMPUTE)
    out = x * scale[:, None] * w
    tl.store(out_ptr + row * out_row_stride + column, out.to(out_ptr.dtype.element_ty), mask=live)


@triton.jit
def _looped_rms_norm_kernel(
    x_ptr, w_ptr, out_ptr, columns, x_row_stride, x_column_stride, w_stride, out_row_stride,
    eps: tl.float64, COMPUTE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK).to(tl.int64)
    x_ptr += row * x_row_stride
    out_ptr += row * out_row_stride
    squares = tl.zeros((BLOCK,), COMPUTE)
    for start in range(0, columns, BLOCK):
        column = start + lane
        x = tl.load(
            x_ptr + column * x_column_stride, mask=column < columns, other=0.0, eviction_policy="evict_last"
        ).to(COMPUTE)
        squares += x * x
    mean_square = tl.sum(squares, axis=0) / columns
    scale = 1.0 / _root(mean_square + tl.full((1,), eps, COMPUTE))
    for start in range(0, columns, BLOCK):
        column = start + lane
        x = tl.load(
            x_ptr + column * x_column_stride, mask=column < columns, other=0.0, eviction_policy="evict_first"
        ).to(COMPUTE)
        w = tl.load(w_ptr + column * w_stride, mask=column < columns, other=0.0).to(COMPUTE)
        out = x * scale * w
        tl.store(out_ptr + column, out.to(out_ptr.dtype.element_ty), mask=column < columns, cache_modifier=".cs")


def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6, *, longest: int | None = None) -> torch.Tensor:
    """The rows of `x` over their root mean square, times `w`: `x / sqrt(mean(x * x) + eps) * w`, contiguous.

    `x` has any rank from 1 up, `w` one axis as long as the last of `x`; any strides; float16, bfloat16, float32
    (computed in float32, rounded once at the end) or float64 (in float64). Leading axes that no single stride walks
    through are copied first. Rows longer than `longest`, a power of two, are read twice in blocks of so many columns;
    by default those that registers do not hold, in blocks of `LOOP_BLOCK`.

    Raises:
        TypeError: an argument is no tensor of a supported dtype, or the dtypes differ.
        ValueError: `x` has no axis, the shape of `w` does not fit, or devices differ.
    """
    check_tensors("rms_norm", x=x, w=w)
    if x.dim() == 0:
        raise ValueError("rms_norm: x has no axis; it must have at least one")
    if w.shape != x.shape[-1:]:
        raise ValueError(f"rms_norm: w has shape {tuple(w.shape)}, but x {tuple(x.shape)} needs {tuple(x.shape[-1:])}")
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.numel() == 0:
        return out
    columns = x.shape[-1]
    matrix = x.reshape(-1, columns)
    rows = matrix.shape[0]
    loop_block = longest or (LOOP_BLOCK // 2 if x.element_size() == 2 else LOOP_BLOCK)
    longest = longest or ROW_BYTES // (COMPUTE[x.dtype].primitive_bitwidth // 8)
    with torch.cuda.device_of(x):
        if columns <= longest:
            tile_rows, block, warps = row_tile(columns, longest)
            _rms_norm_kernel[(triton.cdiv(rows, tile_rows),)](
                matrix, w, out, rows, columns, matrix.stride(0), matrix.stride(1), w.stride(0), columns, float(eps),
                COMPUTE=COMPUTE[x.dtype], ROWS=tile_rows, BLOCK=block, num_warps=warps,
            )  # fmt: skip
        else:
            _, block, _ = row_tile(columns, loop_block)
            _looped_rms_norm_kernel[(rows,)](
                matrix, w, out, columns, matrix.stride(0), matrix.stride(1), w.stride(0), columns, float(eps),
                COMPUTE=COMPUTE[x.dtype], BLOCK=block, num_warps=LOOP_WARPS,
            )  # fmt: skip
    return out
