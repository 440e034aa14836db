"""Softmax over the last axis: whole rows in registers, longer rows by the online algorithm.

The online normalizer is that of Milakov and Gimelshein, "Online normalizer calculation for softmax", arXiv 1805.02867.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels_triton.arguments import COMPUTE, check_tensors, row_tile

ROW_BYTES = 2**17  # of a row kept in registers, in the compute dtype: half of a Hopper SM's register file
ONLINE_BLOCK = 16384
ONLINE_WARPS = 32  # all that a program may have: so few rows are under way that L2 holds them until they are read again


@triton.jit
def _softmax_kernel(
    x_ptr, out_ptr, rows, columns, x_row_stride, x_column_stride, out_row_stride,
    COMPUTE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    live = (row < rows) & (column < columns)
    x = tl.load(x_ptr + row * x_row_stride + column.to(tl.int64) * x_column_stride, mask=live, other=-float("inf")).to(
        COMPUTE
    )
    # tl.max drops NaN, but a NaN comes back through the sum; a row of -inf gives NaN by -inf - -inf, as in torch
    numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
    out = numerator / tl.sum(numerator, axis=1)[:, None]
    tl.store(out_ptr + row * out_row_stride + column, out.to(out_ptr.dtype.element_ty), mask=live)


@triton.jit
def _online_softmax_kernel(
    x_ptr, out_ptr, columns, x_row_stride, x_column_stride, out_row_stride,
    COMPUTE: tl.constexpr, BLOCK: tl.constexpr, PACK: tl.constexpr,
):  # fmt: skip
    # a pack is what one thread loads at a time: maxima and sums within packs need no other thread
    row = tl.program_id(0).to(tl.int64)
    lane = (tl.arange(0, BLOCK // PACK)[:, None] * PACK + tl.arange(0, PACK)[None, :]).to(tl.int64)
    x_ptr += row * x_row_stride
    out_ptr += row * out_row_stride
    top = tl.full((BLOCK // PACK,), -float("inf"), COMPUTE)
    total = tl.zeros((BLOCK // PACK,), COMPUTE)
    for start in range(0, columns, BLOCK):
        column = start + lane
        x = tl.load(
            x_ptr + column * x_column_stride, mask=column < columns, other=-float("inf"), eviction_policy="evict_last"
        ).to(COMPUTE)
        new_top = tl.maximum(top, tl.max(x, axis=1))
        # as long as every value is -inf there is nothing to shift by, and -inf - -inf would spoil the total
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift[:, None]), axis=1)
        top = new_top
    row_top = tl.max(top, axis=0)
    denominator = tl.sum(total * tl.exp(top - row_top), axis=0)
    for start in range(0, columns, BLOCK):
        column = start + lane
        x = tl.load(
            x_ptr + column * x_column_stride, mask=column < columns, other=0.0, eviction_policy="evict_first"
        ).to(COMPUTE)
        out = tl.exp(x - row_top) / denominator
        tl.store(out_ptr + column, out.to(out_ptr.dtype.element_ty), mask=column < columns, cache_modifier=".cs")


def softmax(x: torch.Tensor, *, longest: int | None = None) -> torch.Tensor:
    """The softmax of `x` over its last axis, contiguous, of the shape and dtype of `x`.

    Any rank from 1 up, any strides; float16, bfloat16, float32 (computed in float32) or float64 (in float64). NaN, a
    positive infinity, or a row of negative infinities make their row NaN, as in torch. Leading axes that no single
    stride walks through are copied first. Rows longer than `longest`, a power of two, are read twice in blocks of so
    many columns; by default those that registers do not hold, in blocks of `ONLINE_BLOCK`.

    Raises:
        TypeError: `x` is no tensor of a supported dtype.
        ValueError: `x` has no axis.
    """
    check_tensors("softmax", x=x)
    if x.dim() == 0:
        raise ValueError("softmax: x has no axis; it must have at least one")
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.numel() == 0:
        return out
    columns = x.shape[-1]
    matrix = x.reshape(-1, columns)
    rows = matrix.shape[0]
    online_block = longest or ONLINE_BLOCK
    longest = longest or ROW_BYTES // (COMPUTE[x.dtype].primitive_bitwidth // 8)
    with torch.cuda.device_of(x):
        if columns <= longest:
            tile_rows, block, warps = row_tile(columns, longest)
            _softmax_kernel[(triton.cdiv(rows, tile_rows),)](
                matrix, out, rows, columns, matrix.stride(0), matrix.stride(1), columns,
                COMPUTE=COMPUTE[x.dtype], ROWS=tile_rows, BLOCK=block, num_warps=warps,
            )  # fmt: skip
        else:
            _, block, _ = row_tile(columns, online_block)
            _online_softmax_kernel[(rows,)](
                matrix, out, columns, matrix.stride(0), matrix.stride(1), columns,
                COMPUTE=COMPUTE[x.dtype], BLOCK=block, PACK=min(16 // x.element_size(), block), num_warps=ONLINE_WARPS,
            )  # fmt: skip
    return out
