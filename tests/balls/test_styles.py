"""Ways to compute one op that kernels in use have: each is conformant under the default promises, or named as not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own alias

from conformance.balls import enclose, judge
from conformance.bench.distributions import DISTRIBUTIONS, size, tensor
from conformance.promises import Promises

T = torch.Tensor
EPS = 1e-6
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def running(x: T) -> T:
    total = x.new_zeros((*x.shape[:-1], 1))
    for i in range(x.shape[-1]):
        total = total + x[..., i : i + 1]
    return total


def split(x: T) -> T:
    a, b, c, d = (running(x[..., i::4]) for i in range(4))
    return (a + b) + (c + d)


def online(x: T, tile: int) -> tuple[T, T]:
    """Running maximum and sum of exponentials (Milakov and Gimelshein, arXiv 1805.02867)."""
    top = torch.full_like(x[..., :1], -math.inf)
    total = torch.zeros_like(top)
    for part in torch.split(x, tile, -1):
        new = torch.maximum(top, part.amax(-1, keepdim=True))
        total = total * torch.exp(top - new) + torch.exp(part - new).sum(-1, keepdim=True)
        top = new
    return top, total


def two_pass(x: T) -> tuple[T, T]:
    mean = x.sum(-1, keepdim=True) / x.shape[-1]
    return mean, (x - mean).square().sum(-1, keepdim=True)


def welford(x: T) -> tuple[T, T]:
    mean, square = torch.zeros_like(x[..., :1]), torch.zeros_like(x[..., :1])
    for i in range(x.shape[-1]):
        value = x[..., i : i + 1]
        old = value - mean
        mean = mean + old / (i + 1)
        square = square + old * (value - mean)
    return mean, square


def merged(x: T) -> tuple[T, T]:
    """Moments of tiles, merged one after another (Chan, Golub and LeVeque)."""
    mean, square, n = torch.zeros_like(x[..., :1]), torch.zeros_like(x[..., :1]), 0
    for part in torch.split(x, 16, -1):
        own, more = two_pass(part)
        gap, both = own - mean, n + part.shape[-1]
        mean = mean + gap * (part.shape[-1] / both)
        square = square + more + gap * gap * (n * part.shape[-1] / both)
        n = both
    return mean, square


def merged_lanes(x: T) -> tuple[T, T]:
    """Moments of single elements, merged as a tree with empty lanes behind the last (TorchInductor)."""
    pad = (1 << max(x.shape[-1] - 1, 0).bit_length()) - x.shape[-1]
    mean, weight = F.pad(x, (0, pad)), F.pad(torch.ones_like(x), (0, pad))
    square = torch.zeros_like(mean)
    while mean.shape[-1] > 1:
        (a, b), (s, t), (v, w) = mean.chunk(2, -1), square.chunk(2, -1), weight.chunk(2, -1)
        gap, both = b - a, v + w
        share = torch.where(both == 0, torch.zeros_like(both), w / both)
        mean, square, weight = a + gap * share, s + t + gap * gap * v * share, both
    return mean, square


def layer_norm(moments: Callable[[T], tuple[T, T]], form: str) -> Callable[..., T]:
    def kernel(x: T, w: T, b: T) -> T:
        mean, square = moments(x)
        shifted = square / x.shape[-1] + EPS
        if form == "root":
            return (x - mean) / torch.sqrt(shifted) * w + b
        root = torch.rsqrt(shifted)
        if form == "products":  # torch on the CPU
            return (x * root - mean * root) * w + b
        return (x - mean) * (root * w) + b

    return kernel


def variance(moments: Callable[[T], tuple[T, T]]) -> Callable[[T], T]:
    return lambda x: (moments(x)[1] / x.shape[-1])[..., 0]


def exponentials(x: T) -> T:
    return torch.exp(x - x.amax(-1, keepdim=True))


def inner(x: T) -> T:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)


def exp2(x: T) -> T:
    """The exponential of float32 as GPUs have it."""
    if x.dtype is torch.float64:
        return torch.exp(x)
    return torch.exp2(x * torch.tensor(math.log2(math.e), dtype=x.dtype))


def online_softmax(tile: int) -> Callable[[T], T]:
    def kernel(x: T) -> T:
        top, total = online(x, tile)
        return torch.exp(x - top) * (1 / total)

    return kernel


def fold(x: T, w: T, b: T) -> T:
    mean, square = two_pass(x)
    scale = torch.rsqrt(square / x.shape[-1] + EPS) * w
    return x * scale + (b - mean * scale)


# (reference, kinds of arguments: x rows, w weights, c one weight a row; styles)
Style = Callable[..., T]
STYLES: dict[str, tuple[Callable[..., Any], str, dict[str, Style]]] = {
    "softmax": (
        lambda x: torch.softmax(x, -1),
        "x",
        {
            "exp2": lambda x: (e := exp2(x - x.amax(-1, keepdim=True))) / e.sum(-1, keepdim=True),
            "reciprocal": lambda x: (e := exponentials(x)) * (1 / e.sum(-1, keepdim=True)),
            "running": lambda x: (e := exponentials(x)) / running(e),
            "split": lambda x: (e := exponentials(x)) / split(e),
            "online": online_softmax(16),
            "online by element": online_softmax(1),
        },
    ),
    "rms_norm": (
        lambda x, w: F.rms_norm(x, (x.shape[-1],), w, EPS),
        "xw",
        {
            "root": lambda x, w: x / torch.sqrt(x.square().mean(-1, keepdim=True) + EPS) * w,
            "weight first": lambda x, w: (x * w) * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS),
            "weighted root": lambda x, w: x * (torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * w),
            "divided terms": lambda x, w: x * torch.rsqrt((x * x / x.shape[-1]).sum(-1, keepdim=True) + EPS) * w,
            "split": lambda x, w: x * torch.rsqrt(split(x * x) / x.shape[-1] + EPS) * w,
        },
    ),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b, EPS),
        "xww",
        {
            f"{moments.__name__} {form}": layer_norm(moments, form)
            for moments in (two_pass, welford, merged, merged_lanes)
            for form in ("root", "products", "scale")
        },
    ),
    "variance": (
        lambda x: x.var(-1, correction=0),
        "x",
        {moments.__name__: variance(moments) for moments in (two_pass, welford, merged, merged_lanes)},
    ),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, x.shape[1], w, b, EPS),
        "g",
        {"scale and shift": lambda x, w, b: fold(x, w[:, None], b[:, None])},
    ),
    "normalize": (
        lambda x: F.normalize(x, dim=-1),
        "x",
        {
            "reciprocal": lambda x: x * (1 / torch.sqrt((x * x).sum(-1, keepdim=True)).clamp(min=1e-12)),
            "rsqrt": lambda x: x * torch.rsqrt((x * x).sum(-1, keepdim=True).clamp(min=1e-24)),
        },
    ),
    "gelu": (
        F.gelu,
        "x",
        {
            "half at the end": lambda x: x * (1 + torch.erf(x * math.sqrt(0.5))) * 0.5,
            "divided": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
            "erfc": lambda x: 0.5 * x * torch.erfc(-x * math.sqrt(0.5)),
        },
    ),
    "tanh": (
        torch.tanh,
        "x",
        {
            "sigmoid": lambda x: 2 * torch.sigmoid(2 * x) - 1,
            "ratio": lambda x: torch.copysign((1 - (e := torch.exp(-2 * x.abs()))) / (1 + e), x),
        },
    ),
    "gelu_tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        "x",
        {
            "exponential": lambda x: 0.5 * x * (2 - 2 / (torch.exp(2 * inner(x)) + 1)),
            "sigmoid": lambda x: x * torch.sigmoid(2 * inner(x)),
            "two sigmoids": lambda x: 0.5 * x * (1 + (2 * torch.sigmoid(2 * inner(x)) - 1)),
            "Horner": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x))),
        },
    ),
    "silu and multiply": (
        lambda x, y: F.silu(x) * y,
        "xx",
        {
            "divided": lambda x, y: x / (1 + torch.exp(-x)) * y,
            "exp2": lambda x, y: x / (1 + exp2(-x)) * y,
            "reciprocal": lambda x, y: x * (1 / (1 + torch.exp(-x))) * y,
        },
    ),
    "softplus": (
        F.softplus,
        "x",
        {
            "logarithm": lambda x: torch.where(x > 20, x, torch.log(1 + torch.exp(x))),
            "stable": lambda x: x.clamp(min=0) + torch.log1p(torch.exp(-x.abs())),
        },
    ),
}


def arguments(rng: np.random.Generator, kinds: str, distribution: str, dtype: torch.dtype) -> list[T]:
    rows, n = int(rng.integers(1, 4)), size(rng, 100)
    if kinds == "g":
        return [
            tensor(rng, (2, rows, n + 1), distribution, dtype),
            *(tensor(rng, (rows,), "normal", dtype) for _ in "wb"),
        ]
    other = distribution if rng.random() < 0.7 else "normal"
    return [
        tensor(rng, (n,), "normal", dtype)
        if kind == "w"
        else tensor(rng, (rows, n), (distribution, other)[i > 0], dtype)
        for i, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(("op", "style"), [(op, style) for op, (_, _, styles) in STYLES.items() for style in styles])
def test_a_style_in_use_is_inside_the_bound(op: str, style: str) -> None:
    reference, kinds, styles = STYLES[op]
    for dtype in DTYPES:
        rng = np.random.default_rng(13)
        for distribution in DISTRIBUTIONS:
            args = arguments(rng, kinds, distribution, dtype)
            got = styles[style](*(a if dtype is torch.float64 else a.float() for a in args)).to(dtype)
            (ball,) = enclose(reference, args, Promises())
            verdict = judge(got, ball, Promises())
            assert verdict.ok, (distribution, dtype, [tuple(a.shape) for a in args], str(verdict))


OUTSIDE: dict[str, tuple[Callable[..., Any], str, Style]] = {
    # the scaled maximum is rounded, which shows where it is large
    "softmax scaled before the maximum is taken off": (
        lambda x: torch.softmax(x, -1),
        "offset",
        lambda x: (e := torch.exp2((s := x * math.log2(math.e)) - s.amax(-1, keepdim=True))) / e.sum(-1, keepdim=True),
    ),
    "variance in one pass": (
        lambda x: x.var(-1, correction=0),
        "offset",
        lambda x: x.square().mean(-1) - x.mean(-1).square(),
    ),
    "gelu by a sigmoid": (F.gelu, "normal", lambda x: x * torch.sigmoid(1.702 * x)),
    "cross entropy by a probability": (
        lambda x: -torch.log_softmax(x, -1)[:, 0],
        "exponential_edges",
        lambda x: -torch.log(torch.softmax(x, -1)[:, 0]),
    ),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_style_that_loses_digits_is_outside(name: str) -> None:
    reference, distribution, kernel = OUTSIDE[name]
    rng = np.random.default_rng(17)
    outside = 0
    for _ in range(20):
        x = tensor(rng, (2, 64), distribution, torch.float32)
        (ball,) = enclose(reference, [x], Promises(order="tree"))
        outside += not judge(kernel(x), ball, Promises(order="tree")).ok
    assert outside >= 10
