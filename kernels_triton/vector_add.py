"""Elementwise addition."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels_triton.arguments import COMPUTE, check_tensors, collapse

LONGEST_BLOCK = 1024  # 128 threads with one 16-byte access of half precision, two of single
MOST_DIMENSIONS = 4  # of the kernel; what does not collapse to so few is copied first


@triton.jit
def _vector_add_kernel(
    x_ptr, y_ptr, out_ptr, n,
    size_1, size_2, size_3,
    x_stride_0, x_stride_1, x_stride_2, x_stride_3,
    y_stride_0, y_stride_1, y_stride_2, y_stride_3,
    out_stride_0, out_stride_1, out_stride_2, out_stride_3,
    DIMENSIONS: tl.constexpr, INDEX: tl.constexpr, COMPUTE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # offsets have 64 bits, since they pass 2**31 on widely strided tensors of few elements; the numbers of the elements
    # only where there are so many: 64-bit division costs a strided kernel 100 registers
    element = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    live = element < n
    x_offset = tl.zeros((BLOCK,), tl.int64)
    y_offset = tl.zeros((BLOCK,), tl.int64)
    out_offset = tl.zeros((BLOCK,), tl.int64)
    index = element
    if DIMENSIONS > 3:
        outer = index // size_3
        inner = (index - outer * size_3).to(tl.int64)
        x_offset += inner * x_stride_3
        y_offset += inner * y_stride_3
        out_offset += inner * out_stride_3
        index = outer
    if DIMENSIONS > 2:
        outer = index // size_2
        inner = (index - outer * size_2).to(tl.int64)
        x_offset += inner * x_stride_2
        y_offset += inner * y_stride_2
        out_offset += inner * out_stride_2
        index = outer
    if DIMENSIONS > 1:
        outer = index // size_1
        inner = (index - outer * size_1).to(tl.int64)
        x_offset += inner * x_stride_1
        y_offset += inner * y_stride_1
        out_offset += inner * out_stride_1
        index = outer
    x_offset += index.to(tl.int64) * x_stride_0
    y_offset += index.to(tl.int64) * y_stride_0
    out_offset += index.to(tl.int64) * out_stride_0
    x = tl.load(x_ptr + x_offset, mask=live).to(COMPUTE)
    y = tl.load(y_ptr + y_offset, mask=live).to(COMPUTE)
    tl.store(out_ptr + out_offset, (x + y).to(out_ptr.dtype.element_ty), mask=live)


def vector_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The sum `x + y`, elementwise, rounded once.

    Any shape (the same for both: no broadcasting; pass `y.expand_as(x)`), any strides; float16, bfloat16, float32 or
    float64. The result has the layout of `torch.empty_like(x)`.

    Raises:
        TypeError: an argument is no tensor of a supported dtype, or the dtypes differ.
        ValueError: shapes or devices differ.
    """
    check_tensors("vector_add", x=x, y=y)
    if x.shape != y.shape:
        raise ValueError(
            f"vector_add: x has shape {tuple(x.shape)}, y {tuple(y.shape)}; they must be equal (use expand)"
        )
    out = torch.empty_like(x)
    n = x.numel()
    if n == 0:
        return out
    sizes, strides = collapse(x.shape, x.stride(), y.stride(), out.stride())
    if len(sizes) > MOST_DIMENSIONS:
        x, y, out = x.contiguous(), y.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
        sizes, strides = (n,), ((1,), (1,), (1,))
    unused = (0,) * (MOST_DIMENSIONS - len(sizes))
    x_strides, y_strides, out_strides = ((*stride, *unused) for stride in strides)
    block = min(triton.next_power_of_2(n), LONGEST_BLOCK)
    index = tl.int32 if n + block < 2**31 else tl.int64
    with torch.cuda.device_of(x):
        _vector_add_kernel[(triton.cdiv(n, block),)](
            x, y, out, n, *(*sizes, *unused)[1:], *x_strides, *y_strides, *out_strides,
            DIMENSIONS=len(sizes), INDEX=index, COMPUTE=COMPUTE[x.dtype], BLOCK=block,
        )  # fmt: skip
    return out
