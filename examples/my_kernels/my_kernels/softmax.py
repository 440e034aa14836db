"""Softmax over rows, twice: as it is often written first, and repaired."""

import torch
import triton
import triton.language as tl


@triton.jit
def _first_kernel(out_ptr, x_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols)  # a row has n_cols, not BLOCK
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n_cols + cols, e / tl.sum(e, axis=0), mask=cols < n_cols)


def softmax_first(x: torch.Tensor) -> torch.Tensor:
    """The softmax of each row of `x`, where the number of columns is a power of two."""
    rows, n_cols = x.shape
    out = torch.empty_like(x)
    _first_kernel[(rows,)](out, x, x.stride(0), n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return out


@triton.jit
def _kernel(out_ptr, x_ptr, row_stride, col_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)  # row * row_stride may exceed 32 bits
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * row_stride + cols.to(tl.int64) * col_stride, mask=inside, other=-float("inf"))
    x = x.to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n_cols + cols, (e / tl.sum(e, axis=0)).to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """The softmax of each row of a matrix in float16, bfloat16 or float32, of any strides."""
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(f"x is {x.dtype}; softmax takes float16, bfloat16 and float32")
    rows, n_cols = x.shape
    out = torch.empty((rows, n_cols), dtype=x.dtype, device=x.device)
    if out.numel():
        _kernel[(rows,)](out, x, x.stride(0), x.stride(1), n_cols, BLOCK=triton.next_power_of_2(n_cols))
    return out
