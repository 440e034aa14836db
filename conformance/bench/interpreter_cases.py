"""The launches that `bench interpreter` times: the four kernels that every Triton course starts with, and one loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
import triton
import triton.language as tl


@triton.jit
def _add(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def _softmax(x_ptr, o_ptr, columns, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(o_ptr + row * columns + c, e / tl.sum(e, axis=0), mask=c < columns)


@triton.jit
def _online_softmax(x_ptr, o_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top, total = -float("inf"), 0.0
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=-float("inf"))
        new = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), axis=0)
        top = new
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=-float("inf"))
        tl.store(o_ptr + row * columns + c, tl.exp(x - top) / total, mask=c < columns)


@triton.jit
def _rms_norm(x_ptr, w_ptr, o_ptr, columns, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / columns + 1e-6)
    tl.store(o_ptr + row * columns + c, x * scale * tl.load(w_ptr + c, mask=c < columns), mask=c < columns)


@triton.jit
def _matmul(a_ptr, b_ptr, c_ptr, m, n, k, BLOCK: tl.constexpr):
    rm = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rn = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, k, BLOCK):
        rk = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rm[:, None] * k + rk[None, :], mask=(rm[:, None] < m) & (rk[None, :] < k), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * n + rn[None, :], mask=(rk[:, None] < k) & (rn[None, :] < n), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rm[:, None] * n + rn[None, :], acc, mask=(rm[:, None] < m) & (rn[None, :] < n))


@dataclasses.dataclass(frozen=True)
class Case:
    """A launch with its tensors by name; the last one is the output."""

    name: str
    run: Callable[[], object]
    tensors: dict[str, torch.Tensor]


def _rows(name: str, kernel: object, rows: int, columns: int, block: int, weight: bool = False) -> Case:
    tensors = {"x": torch.randn(rows, columns)}
    if weight:
        tensors["w"] = torch.randn(columns)
    tensors["o"] = torch.empty(rows, columns)
    launch = kernel[(rows,)]  # type: ignore[index]
    return Case(name, lambda: launch(*tensors.values(), columns, BLOCK=block), tensors)


def _added(n: int) -> Case:
    tensors = {"x": torch.randn(n), "y": torch.randn(n), "o": torch.empty(n)}
    launch = _add[(triton.cdiv(n, 1024),)]
    return Case(f"add {n}", lambda: launch(*tensors.values(), n, BLOCK=1024), tensors)


def _multiplied(m: int, n: int, k: int, block: int) -> Case:
    tensors = {"a": torch.randn(m, k), "b": torch.randn(k, n), "c": torch.empty(m, n)}
    launch = _matmul[(triton.cdiv(m, block), triton.cdiv(n, block))]
    return Case(f"matmul {m}x{n}x{k}", lambda: launch(*tensors.values(), m, n, k, BLOCK=block), tensors)


def cases() -> list[Case]:
    """Every case, with fresh tensors."""
    shapes = ((3, 5), (16, 17), (64, 1000))
    blocks = {c: triton.next_power_of_2(c) for _, c in shapes}
    return [
        *[_added(n) for n in (1, 5000, 50000)],
        *[_rows(f"softmax {r}x{c}", _softmax, r, c, blocks[c]) for r, c in shapes],
        *[_rows(f"rms_norm {r}x{c}", _rms_norm, r, c, blocks[c], weight=True) for r, c in shapes],
        _multiplied(17, 19, 23, 16),
        _multiplied(65, 33, 70, 16),
        _multiplied(200, 300, 150, 64),
        _rows("online softmax 64x40", _online_softmax, 64, 40, 16),
    ]
