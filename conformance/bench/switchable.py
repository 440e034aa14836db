"""Six Triton kernels with a switch: FAULT = 0 is correct, every other number is one numerical mistake.

The mistakes are those of half-precision kernels in the wild: a narrow accumulator, a second rounding, a constant in the
wrong place, a masked lane that counts. `MISTAKES` names them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

EPS = 1e-6

MISTAKES: dict[str, tuple[str, ...]] = {
    "add": ("double rounding", "last element dropped", "truncating cast", "half operands"),
    "softmax": (
        "no maximum subtracted",
        "half denominator",
        "padding of zero",
        "last element dropped",
        "double rounding",
        "eps in the denominator",
        "half exponent",
    ),
    "rms_norm": (
        "eps outside the root",
        "half sum of squares",
        "last element dropped",
        "divided by the block",
        "eps forgotten",
        "eps times ten",
        "double rounding",
    ),
    "layer_norm": (
        "mean of squares minus square of mean",
        "divided by n - 1",
        "masked lanes in the variance",
        "eps outside the root",
        "half deviation",
    ),
    "sum": ("half accumulator", "bfloat16 operands", "last element dropped", "double rounding"),
    "matmul": (
        "half accumulator",
        "bfloat16 accumulator",
        "TF32 operands",
        "last of K dropped",
        "double rounding",
    ),
}


@triton.jit
def _through_half(value):
    return value.to(tl.float16).to(tl.float32)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, FAULT: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """x + y."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask).to(WIDE)
    y = tl.load(y_ptr + offsets, mask=mask).to(WIDE)
    if FAULT == 4:
        x = _through_half(x)
        y = _through_half(y)
    total = x + y
    if FAULT == 1:
        total = _through_half(total)
    if FAULT == 2:
        mask = offsets < n - 1
    if FAULT == 3:
        total = (total.to(tl.int32, bitcast=True) & -65536).to(tl.float32, bitcast=True)
    tl.store(out_ptr + offsets, total.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, stride, n, FAULT: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """One row of softmax a program."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    seen = mask
    if FAULT == 4:
        seen = columns < n - 1
    padding = -float("inf")
    if FAULT == 3:
        padding = 0.0
    x = tl.load(x_ptr + row * stride + columns, mask=seen, other=padding).to(WIDE)
    if FAULT != 1:
        x = x - tl.max(x, axis=0)
    if FAULT == 7:
        x = _through_half(x)
    e = tl.exp(x)
    if FAULT == 2:
        narrow = e.to(tl.float16)
        total = tl.sum(narrow, axis=0).to(tl.float32)
        e = narrow.to(tl.float32)
    else:
        total = tl.sum(e, axis=0)
    if FAULT == 6:
        total = total + 1e-6
    y = e / total
    if FAULT == 5:
        y = _through_half(y)
    tl.store(out_ptr + row * stride + columns, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rms_norm_kernel(
    x_ptr,
    w_ptr,
    out_ptr,
    stride,
    n,
    EPSILON: tl.constexpr,
    FAULT: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One row of x / sqrt(mean(x * x) + eps) * w a program."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    seen = mask
    if FAULT == 3:
        seen = columns < n - 1
    x = tl.load(x_ptr + row * stride + columns, mask=seen, other=0.0).to(WIDE)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(WIDE)
    if FAULT == 2:
        narrow = x.to(tl.float16)
        square = tl.sum(narrow * narrow, axis=0).to(tl.float32)
    else:
        square = tl.sum(x * x, axis=0)
    mean = square / n
    if FAULT == 4:
        mean = square / BLOCK
    if FAULT == 1:
        root = 1.0 / (tl.sqrt(mean) + tl.full((1,), EPSILON, WIDE))
    elif FAULT == 5:
        root = 1.0 / tl.sqrt(mean)
    elif FAULT == 6:
        root = 1.0 / tl.sqrt(mean + 10.0 * tl.full((1,), EPSILON, WIDE))
    else:
        root = 1.0 / tl.sqrt(mean + tl.full((1,), EPSILON, WIDE))
    y = x * root
    if FAULT == 7:
        y = _through_half(y)
    tl.store(out_ptr + row * stride + columns, (y * w).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def layer_norm_kernel(
    x_ptr,
    w_ptr,
    b_ptr,
    out_ptr,
    stride,
    n,
    EPSILON: tl.constexpr,
    FAULT: tl.constexpr,
    WIDE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One row of layer normalisation a program."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0).to(WIDE)
    w = tl.load(w_ptr + columns, mask=mask, other=0.0).to(WIDE)
    b = tl.load(b_ptr + columns, mask=mask, other=0.0).to(WIDE)
    mean = tl.sum(x, axis=0) / n
    deviation = x - mean
    if FAULT != 3:
        deviation = tl.where(mask, deviation, 0.0)
    if FAULT == 1:
        variance = tl.sum(x * x, axis=0) / n - mean * mean
    elif FAULT == 2:
        variance = tl.sum(deviation * deviation, axis=0) / tl.maximum(n - 1, 1)
    else:
        variance = tl.sum(deviation * deviation, axis=0) / n
    if FAULT == 4:
        root = 1.0 / (tl.sqrt(variance) + tl.full((1,), EPSILON, WIDE))
    else:
        root = 1.0 / tl.sqrt(variance + tl.full((1,), EPSILON, WIDE))
    if FAULT == 5:
        deviation = _through_half(deviation)
    y = deviation * root * w + b
    tl.store(out_ptr + row * stride + columns, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def sum_kernel(x_ptr, out_ptr, stride, n, FAULT: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """One row sum a program."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    if FAULT == 3:
        mask = columns < n - 1
    x = tl.load(x_ptr + row * stride + columns, mask=mask, other=0.0)
    if FAULT == 1:
        total = tl.sum(x.to(tl.float16), axis=0).to(tl.float32)
    elif FAULT == 2:
        total = tl.sum(x.to(tl.bfloat16).to(tl.float32), axis=0)
    else:
        total = tl.sum(x.to(WIDE), axis=0)
    if FAULT == 4:
        total = _through_half(total)
    tl.store(out_ptr + row, total.to(out_ptr.dtype.element_ty))


@triton.jit
def matmul_kernel(a_ptr, b_ptr, out_ptr, m, n, k, FAULT: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """One tile of a @ b a program."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=WIDE)
    last = k
    if FAULT == 4:
        last = k - 1
    for start in range(0, k, BLOCK):
        step = start + inner
        a = tl.load(
            a_ptr + rows[:, None] * k + step[None, :], mask=(rows[:, None] < m) & (step[None, :] < last), other=0.0
        )
        b = tl.load(
            b_ptr + step[:, None] * n + columns[None, :],
            mask=(step[:, None] < last) & (columns[None, :] < n),
            other=0.0,
        )
        if FAULT == 3:
            a = (a.to(tl.float32).to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
            b = (b.to(tl.float32).to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=WIDE)
        if FAULT == 1:
            total = _through_half(total)
        if FAULT == 2:
            total = total.to(tl.bfloat16).to(tl.float32)
    if FAULT == 5:
        total = _through_half(total)
    tl.store(
        out_ptr + rows[:, None] * n + columns[None, :],
        total.to(out_ptr.dtype.element_ty),
        mask=(rows[:, None] < m) & (columns[None, :] < n),
    )


def launch(op: str, inputs: list[torch.Tensor], fault: int = 0) -> torch.Tensor:
    """The output of the kernel of `op` with mistake number `fault` (0: none)."""
    x = inputs[0]
    wide = tl.float64 if x.dtype is torch.float64 else tl.float32
    if op == "add":
        # a recognisable old value, for the element that mistake 2 does not write
        out = torch.full_like(x, 7.0)
        add_kernel[(triton.cdiv(x.numel(), 64),)](x, inputs[1], out, x.numel(), FAULT=fault, WIDE=wide, BLOCK=64)
        return out
    if op == "matmul":
        (m, k), n = x.shape, inputs[1].shape[1]
        out = torch.empty(m, n, dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
        matmul_kernel[grid](x, inputs[1], out, m, n, k, FAULT=fault, WIDE=wide, BLOCK=16)
        return out
    rows, n = x.shape
    block = triton.next_power_of_2(max(n, 1))
    if op == "sum":
        out = torch.empty(rows, dtype=x.dtype, device=x.device)
        sum_kernel[(rows,)](x, out, x.stride(0), n, FAULT=fault, WIDE=wide, BLOCK=block)
        return out
    out = torch.empty_like(x)
    if op == "softmax":
        softmax_kernel[(rows,)](x, out, x.stride(0), n, FAULT=fault, WIDE=wide, BLOCK=block)
    elif op == "rms_norm":
        rms_norm_kernel[(rows,)](x, inputs[1], out, x.stride(0), n, EPSILON=EPS, FAULT=fault, WIDE=wide, BLOCK=block)
    elif op == "layer_norm":
        layer_norm_kernel[(rows,)](
            x, inputs[1], inputs[2], out, x.stride(0), n, EPSILON=EPS, FAULT=fault, WIDE=wide, BLOCK=block
        )
    else:
        raise ValueError(f"no kernel for {op!r}; there are {', '.join(MISTAKES)}")
    return out
