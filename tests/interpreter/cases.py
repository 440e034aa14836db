"""Small kernels of every idiom, each with a launcher that draws its shapes from a seed and returns the results."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
import triton
import triton.language as tl


@triton.jit
def _elementwise(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n, other=1.0)
    z = tl.where(x > y, x * y - 0.5, tl.abs(x) / (y * y + 1.0))
    z = tl.exp(tl.minimum(z, 3.0)) + tl.sqrt(tl.abs(x)) + tl.sin(y) * tl.log(tl.abs(x) + 1.0) + tl.sigmoid(y)
    tl.store(o_ptr + i, z + tl.fma(x, y, z) + tl.rsqrt(x * x + 1.0) + tl.floor(x), mask=i < n)


@triton.jit
def _integers(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x, y = tl.load(x_ptr + i, mask=m, other=7), tl.load(y_ptr + i, mask=m, other=3)
    q = x // (y | 1) + x % (y | 1) - (x >> 3) + (y << 2) + (x ^ y) * (~x & 15)
    q = tl.where((x < y) & (i % 2 == 0), q, tl.maximum(x, -y)) + (x.to(tl.int16) * 3).to(tl.int32)
    q += tl.umulhi(x.to(tl.uint32, bitcast=True), y.to(tl.uint32, bitcast=True)).to(tl.int32, bitcast=True)
    tl.store(o_ptr + i, q + x.to(tl.uint8).to(tl.int32) + tl.cdiv(x, 4) + (x.to(tl.int64) * y).to(tl.int32), mask=m)


@triton.jit
def _softmax(x_ptr, o_ptr, stride, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + c, mask=c < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(o_ptr + row * n + c, e / tl.sum(e, axis=0), mask=c < n)


@triton.jit
def _online_softmax(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top, total = -float("inf"), 0.0
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), axis=0)
        top = new
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf"))
        tl.store(o_ptr + row * n + c, tl.exp(x - top) / total, mask=c < n)


@triton.jit
def _varlen(x_ptr, len_ptr, o_ptr, width, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    n = tl.load(len_ptr + p)
    if n == 0:
        tl.store(o_ptr + p, -1.0)
        return
    total = 0.0
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + p * width + c, mask=c < n, other=0.0))
    if n > 5:
        total = total * 2.0
    elif n == 3:
        total = -total
    while total > 4.0:
        total = total * 0.5
    tl.store(o_ptr + p, total)


@triton.jit
def _matmul(a_ptr, b_ptr, c_ptr, m, n, k, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a, b = a_ptr + rm[:, None] * sam + rk[None, :] * sak, b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(k, BK)):
        left = k - step * BK
        x = tl.load(a, mask=(rm[:, None] < m) & (rk[None, :] < left), other=0.0)
        y = tl.load(b, mask=(rk[:, None] < left) & (rn[None, :] < n), other=0.0)
        acc += tl.dot(x, y, input_precision="ieee")
        a += BK * sak
        b += BK * sbk
    tl.store(c_ptr + rm[:, None] * n + rn[None, :], acc, mask=(rm[:, None] < m) & (rn[None, :] < n))


@triton.jit
def _scans(x_ptr, o_ptr, n, ROWS: tl.constexpr, COLS: tl.constexpr, REVERSE: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    at = tl.program_id(0) * ROWS * COLS + r[:, None] * COLS + c[None, :]
    x = tl.load(x_ptr + at)
    y = tl.cumsum(x, axis=1, reverse=REVERSE) + tl.cumprod(x, axis=0)
    tl.store(o_ptr + at, y + tl.sum(x, axis=0)[None, :] + tl.min(x, axis=1, keep_dims=True) + tl.sum(x))


@triton.jit
def _largest(a, b):
    return tl.where(a > b, a, b * 0.5)


@triton.jit
def _welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    return mean_a + delta * n_b / n, m2_a + m2_b + delta * delta * n_a * n_b / n, n


@triton.jit
def _custom(x_ptr, o_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    x = tl.load(x_ptr + tl.program_id(0) * ROWS * COLS + r[:, None] * COLS + c[None, :])
    mean, m2, n = tl.reduce((x, tl.zeros_like(x), tl.full((ROWS, COLS), 1.0, tl.float32)), 1, _welford)
    scanned = tl.associative_scan(x, 0, _largest)
    at = o_ptr + tl.program_id(0) * ROWS * COLS + r[:, None] * COLS + c[None, :]
    tl.store(at, scanned + (mean + m2 / n)[:, None] + tl.reduce(x, 0, _largest)[None, :])


@triton.jit
def _arg(x_ptr, v_ptr, i_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    x = tl.load(x_ptr + tl.program_id(0) * ROWS * COLS + r[:, None] * COLS + c[None, :])
    value, index = tl.max(x, axis=1, return_indices=True)
    at = tl.program_id(0) * ROWS + r
    tl.store(v_ptr + at, value + tl.min(x, axis=1))
    tl.store(i_ptr + at, index * 100 + tl.argmin(x, axis=1))


@triton.jit
def _shapes(x_ptr, o_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = tl.program_id(0) * ROWS * COLS
    x = tl.load(x_ptr + at + tl.arange(0, ROWS * COLS))
    y = tl.reshape(x, (ROWS, COLS))
    z = tl.trans(y)
    left, right = tl.split(tl.reshape(z, (COLS, ROWS // 2, 2)))
    joined = tl.reshape(tl.join(left, right), (COLS, ROWS))
    picked = tl.gather(y, (tl.arange(0, COLS)[None, :] + tl.arange(0, ROWS)[:, None]) % COLS, axis=1)
    row = tl.broadcast_to(tl.sum(y, 0)[None, :], (ROWS, COLS))
    result = tl.trans(joined) + picked + row + tl.expand_dims(tl.max(y, 1), 1) + tl.flip(y, 1)
    tl.store(o_ptr + at + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :], result)


@triton.jit
def _sorted(x_ptr, o_ptr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o_ptr + i, tl.sort(tl.load(x_ptr + i)))


@triton.jit
def _atomics(x_ptr, sum_ptr, count_ptr, max_ptr, n, bins, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    old = tl.atomic_add(count_ptr + x % bins, 1, mask=i < n)
    tl.atomic_add(sum_ptr, tl.sum(x))
    tl.atomic_max(max_ptr + x % bins, x + old * 0, mask=i < n)
    tl.atomic_xchg(max_ptr + bins, tl.program_id(0))


@triton.jit
def _histogram(x_ptr, o_ptr, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.store(o_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def _grid3(o_ptr, nx, ny, nz):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (x * ny + y) * nz + z
    tl.store(o_ptr + at, at * 10 + tl.num_programs(0) + 2 * tl.num_programs(1) + 3 * tl.num_programs(2))


@triton.jit
def _inner(x, scale: tl.constexpr):
    if scale == 0:
        return x
    return x * scale + tl.program_id(0)


@triton.jit
def _nested(x_ptr, o_ptr, n, flag, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = _inner(tl.load(x_ptr + i, mask=i < n), 3)
    if flag > 2:
        x = _inner(x, 0) - 1
    tl.store(o_ptr + i, x if flag % 2 == 0 else -x, mask=i < n)


@triton.jit
def _gather(x_ptr, index_ptr, o_ptr, n, width, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0))
    c = tl.arange(0, BLOCK)
    mask = c < width
    tl.store(o_ptr + tl.program_id(0) * width + c, tl.load(x_ptr + row * width + c, mask, other=-1.0), mask=c < width)


@triton.jit
def _random(o_ptr, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + i, tl.rand(seed, i) + tl.randn(seed, i + 7), mask=i < n)


@triton.jit
def _descriptor(x_ptr, o_ptr, m, n, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    o = tl.make_tensor_descriptor(o_ptr, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    o.store(at, x.load(at) * 2.0 + 1.0)


@triton.jit
def _casts(x_ptr, h_ptr, d_ptr, i_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    h = x.to(tl.float16)
    tl.store(h_ptr + i, h * h + 1.5, mask=i < n)
    tl.store(d_ptr + i, x.to(tl.float64) / 3, mask=i < n)
    tl.store(i_ptr + i, x.to(tl.int32) + (x > 0).to(tl.int32) + x.to(tl.int32, bitcast=True), mask=i < n)


def _normal(draw: random.Random, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(draw.randrange(2**31)))


def _whole(draw: random.Random, low: int, high: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(draw.randrange(2**31))
    return torch.randint(low, high, shape, generator=generator, dtype=torch.int32)


def elementwise(draw):
    n, block = draw.randrange(200), draw.choice([1, 16, 64])
    o = torch.zeros(n)
    _elementwise[(triton.cdiv(n, block),)](_normal(draw, n), _normal(draw, n), o, n, BLOCK=block)
    return [o]


def integers(draw):
    n, block = draw.randrange(200), draw.choice([2, 16, 128])
    o = torch.zeros(n, dtype=torch.int32)
    x, y = _whole(draw, -(2**31), 2**31 - 1, n), _whole(draw, -1000, 1000, n)
    _integers[(triton.cdiv(n, block),)](x, y, o, n, BLOCK=block)
    return [o]


def softmax(draw):
    rows, columns = draw.randrange(1, 20), draw.randrange(1, 100)
    x = _normal(draw, rows, columns + draw.randrange(4))
    o = torch.zeros(rows, columns)
    _softmax[(rows,)](x, o, x.stride(0), columns, BLOCK=triton.next_power_of_2(columns))
    return [o]


def online_softmax(draw):
    rows, columns = draw.randrange(1, 20), draw.randrange(1, 100)
    o = torch.zeros(rows, columns)
    _online_softmax[(rows,)](_normal(draw, rows, columns), o, columns, BLOCK=draw.choice([8, 16, 64]))
    return [o]


def varlen(draw):
    rows, columns = draw.randrange(1, 40), draw.randrange(1, 60)
    o = torch.zeros(rows)
    lengths = _whole(draw, 0, columns + 1, rows)
    _varlen[(rows,)](_normal(draw, rows, columns), lengths, o, columns, BLOCK=draw.choice([4, 16]))
    return [o]


def matmul(draw):
    m, n, k = (draw.randrange(1, 50) for _ in range(3))
    a, b = _normal(draw, m, k), _normal(draw, k, n)
    if draw.random() < 0.5:
        a = a.t().contiguous().t()
    if draw.random() < 0.5:
        b = b.t().contiguous().t()
    c = torch.zeros(m, n)
    bm, bn, bk = (draw.choice([16, 32]) for _ in range(3))
    grid = (triton.cdiv(m, bm), triton.cdiv(n, bn))
    _matmul[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BM=bm, BN=bn, BK=bk)
    return [c]


def scans(draw):
    rows, columns, programs = draw.choice([1, 4, 8]), draw.choice([1, 8, 16]), draw.randrange(1, 5)
    x = _normal(draw, programs * rows * columns)
    o = torch.zeros_like(x)
    _scans[(programs,)](x, o, x.numel(), ROWS=rows, COLS=columns, REVERSE=draw.random() < 0.5)
    return [o]


def custom(draw):
    rows, columns, programs = draw.choice([2, 4]), draw.choice([2, 8]), draw.randrange(1, 4)
    x = _normal(draw, programs * rows * columns)
    o = torch.zeros_like(x)
    _custom[(programs,)](x, o, ROWS=rows, COLS=columns)
    return [o]


def arg(draw):
    rows, columns, programs = draw.choice([1, 4]), draw.choice([1, 8, 32]), draw.randrange(1, 4)
    x = _normal(draw, programs * rows * columns)
    v, i = torch.zeros(programs * rows), torch.zeros(programs * rows, dtype=torch.int32)
    _arg[(programs,)](x, v, i, ROWS=rows, COLS=columns)
    return [v, i]


def shapes(draw):
    rows, columns, programs = draw.choice([2, 4]), draw.choice([2, 8]), draw.randrange(1, 4)
    x = _normal(draw, programs * rows * columns)
    o = torch.zeros_like(x)
    _shapes[(programs,)](x, o, ROWS=rows, COLS=columns)
    return [o]


def sorts(draw):
    n, programs = draw.choice([2, 8, 16]), draw.randrange(1, 4)
    x = _normal(draw, programs * n)
    o = torch.zeros_like(x)
    _sorted[(programs,)](x, o, N=n)
    return [o]


def atomics(draw):
    n, bins = draw.randrange(1, 100), draw.randrange(1, 9)
    total, count = torch.zeros(1, dtype=torch.int32), torch.zeros(bins, dtype=torch.int32)
    most = torch.zeros(bins + 1, dtype=torch.int32)
    _atomics[(triton.cdiv(n, 16),)](_whole(draw, 0, 1000, n), total, count, most, n, bins, BLOCK=16)
    return [total, count, most]


def histogram(draw):
    n, programs = draw.choice([8, 64]), draw.randrange(1, 4)
    o = torch.zeros(programs * 16, dtype=torch.int32)
    _histogram[(programs,)](_whole(draw, 0, 16, programs * n), o, N=n, BINS=16)
    return [o]


def grid3(draw):
    nx, ny, nz = (draw.randrange(1, 5) for _ in range(3))
    o = torch.zeros(nx, ny, nz, dtype=torch.int32)
    _grid3[(nx, ny, nz)](o, nx, ny, nz)
    return [o]


def nested(draw):
    n = draw.randrange(1, 60)
    o = torch.zeros(n)
    _nested[(triton.cdiv(n, 16),)](_normal(draw, n), o, n, draw.randrange(5), BLOCK=16)
    return [o]


def gather(draw):
    rows, width, n = draw.randrange(1, 9), draw.randrange(1, 16), draw.randrange(1, 20)
    o = torch.zeros(n, width)
    _gather[(n,)](_normal(draw, rows, width), _whole(draw, 0, rows, n), o, n, width, BLOCK=16)
    return [o]


def rand(draw):
    n = draw.randrange(1, 100)
    o = torch.zeros(n)
    _random[(triton.cdiv(n, 32),)](o, draw.randrange(2**31), n, BLOCK=32)
    return [o]


def descriptor(draw):
    m, n = draw.randrange(1, 20), 4 * draw.randrange(1, 10)
    o = torch.zeros(m, n)
    _descriptor[(triton.cdiv(m, 8), triton.cdiv(n, 16))](_normal(draw, m, n), o, m, n, BM=8, BN=16)
    return [o]


def casts(draw):
    n = draw.randrange(1, 100)
    h, d = torch.zeros(n, dtype=torch.float16), torch.zeros(n, dtype=torch.float64)
    i = torch.zeros(n, dtype=torch.int32)
    _casts[(triton.cdiv(n, 32),)](_normal(draw, n), h, d, i, n, BLOCK=32)
    return [h, d, i]


ALL: dict[str, Callable[[random.Random], list[torch.Tensor]]] = {
    f.__name__: f
    for f in (
        elementwise, integers, softmax, online_softmax, varlen, matmul, scans, custom, arg, shapes, sorts, atomics,
        histogram, grid3, nested, gather, rand, descriptor, casts,
    )
}  # fmt: skip
