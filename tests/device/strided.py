"""Kernels that copy a matrix by its strides, and go one element too far in some way."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance import Op

copy = Op(
    lambda x: x.clone(),
    {"x": kst.tensors("rows", "cols", dtypes=(torch.float16, torch.bfloat16, torch.float32, torch.float64))},
    name="copy_rows",
)


@triton.jit
def _rows(x_ptr, out_ptr, columns, x_stride, x_stride_c, out_stride,
          READ_FROM: tl.constexpr, READ_TO: tl.constexpr, WRITE_FROM: tl.constexpr, WRITE_TO: tl.constexpr,
          BLOCK: tl.constexpr):  # fmt: skip
    # lane k has column k - 1: the first and the last of BLOCK lanes are those beside the row
    column = tl.arange(0, BLOCK) - 1
    row = tl.program_id(0).to(tl.int64)
    read = (column >= READ_FROM) & (column < columns + READ_TO)
    written = (column >= WRITE_FROM) & (column < columns + WRITE_TO)
    x = tl.load(x_ptr + row * x_stride + column * x_stride_c, mask=read, other=0.0)
    # what is read beside the row must not be optimized away: it is added, times zero, to what is stored
    beside = tl.sum(tl.where((column < 0) | (column >= columns), x, 0.0).to(tl.float32), axis=0) * 0.0
    tl.store(out_ptr + row * out_stride + column, x + beside.to(x.dtype), mask=written)


@triton.jit
def _warps(x_ptr, out_ptr, n, WARPS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # the id of the thread's warp, which a kernel for few warps may take for granted
    thread = tl.inline_asm_elementwise("mov.u32 $0, %tid.x;", "=r,r", [i], dtype=tl.int32, is_pure=False, pack=1)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x, mask=(i < n) & (thread < WARPS * 32))


def _launch(x: torch.Tensor, read_from: int = 0, read_to: int = 0, write_from: int = 0, write_to: int = 0):
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        _rows[(rows,)](
            x, out, columns, *x.stride(), columns,
            READ_FROM=read_from, READ_TO=read_to, WRITE_FROM=write_from, WRITE_TO=write_to,
            BLOCK=triton.next_power_of_2(columns + 2),
        )  # fmt: skip
    return out


def right(x):
    return _launch(x)


def reads_past_the_end(x):
    return _launch(x, read_to=1)


def reads_before_the_start(x):
    return _launch(x, read_from=-1)


def writes_past_the_end(x):
    return _launch(x, write_to=1)


def writes_before_the_start(x):
    return _launch(x, write_from=-1)


def wrong_in_many_warps(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    if out.numel():
        _warps[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), WARPS=4, BLOCK=1024, num_warps=4)
    return out


FAULTY = (reads_past_the_end, reads_before_the_start, writes_past_the_end, writes_before_the_start)
