"""No false alarm: emulated conformant kernels stay inside, at full documented error; faulty ones do not."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import emulation
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own alias

from conformance.balls import enclose, judge
from conformance.bench.distributions import DISTRIBUTIONS, size, tensor
from conformance.promises import Promises

EPS = 1e-6
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
# (reference, emulated kernel, kinds of arguments: x rows, w weights, t targets, a and b matrices)
OPS: dict[str, tuple[Callable[..., Any], Callable[..., torch.Tensor], str]] = {
    "add": (lambda x, y: x + y, emulation.add, "xx"),
    "softmax": (lambda x: torch.softmax(x, -1), emulation.softmax, "x"),
    "rms_norm": (lambda x, w: F.rms_norm(x, (x.shape[-1],), w, EPS), emulation.rms_norm, "xw"),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b, EPS), emulation.layer_norm, "xww"),
    "sum": (lambda x: x.sum(-1), emulation.sum_rows, "x"),
    "mean": (lambda x: x.mean(-1), emulation.mean_rows, "x"),
    "matmul": (lambda a, b: a @ b, emulation.matmul, "ab"),
    "silu and multiply": (lambda x, y: F.silu(x) * y, emulation.silu_mul, "xx"),
    "gelu": (lambda x: F.gelu(x), emulation.gelu, "x"),
    "logsumexp": (lambda x: torch.logsumexp(x, -1), emulation.logsumexp, "x"),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), emulation.log_softmax, "x"),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), emulation.cross_entropy, "xt"),
    "variance": (lambda x: x.var(-1, correction=0), emulation.variance, "x"),
}


def arguments(rng: np.random.Generator, kinds: str, distribution: str, dtype: torch.dtype) -> list[torch.Tensor]:
    rows, columns = int(rng.integers(1, 4)), size(rng)
    other = distribution if rng.random() < 0.7 else "normal"
    if kinds == "ab":
        m, n, k = size(rng, 12), size(rng, 12), size(rng, 100)
        return [tensor(rng, (m, k), distribution, dtype), tensor(rng, (n, k), other, dtype).T.contiguous()]
    out: list[torch.Tensor] = []
    for kind in kinds:
        if kind == "t":
            out.append(torch.from_numpy(rng.integers(0, columns, rows)))
        elif kind == "w":
            out.append(tensor(rng, (columns,), "normal", dtype))
        else:
            out.append(tensor(rng, (rows, columns), other if out else distribution, dtype))
    return out


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", OPS)
def test_every_conformant_way_to_compute_is_inside_the_bound(op: str, dtype: torch.dtype) -> None:
    reference, kernel, kinds = OPS[op]
    rng = np.random.default_rng(7)
    worst = 0.0
    for distribution in DISTRIBUTIONS:
        for gpu in (False, True):
            args = arguments(rng, kinds, distribution, dtype)
            machine = emulation.Machine(rng, np.float64 if dtype is torch.float64 else np.float32, gpu)
            with np.errstate(all="ignore"):
                got = kernel(machine, *args)
            for promises in [Promises()] if gpu else [Promises(), Promises(profile="interpret")]:
                (ball,) = enclose(reference, args, promises)
                verdict = judge(got, ball, promises)
                assert verdict.ok, (distribution, gpu, [tuple(a.shape) for a in args], vars(machine), str(verdict))
                worst = max(worst, verdict.ratio)
    assert 0 < worst <= 1


FAULTS: dict[str, tuple[Callable[..., Any], Callable[[torch.Tensor], torch.Tensor]]] = {
    "eps in the softmax denominator": (
        lambda x: torch.softmax(x[:, :4] * 8, -1),
        lambda x: (e := torch.exp((x[:, :4] - x[:, :4].amax(-1, keepdim=True)) * 8)) / (e.sum(-1, keepdim=True) + 1e-6),
    ),
    "no maximum subtracted": (
        lambda x: torch.softmax(x, -1),
        lambda x: torch.exp(x + 80) / torch.exp(x + 80).sum(-1, keepdim=True) if x.amax() < 5 else x * 0,
    ),
    "half exponent": (
        lambda x: torch.softmax(x, -1),
        lambda x: torch.softmax((x - x.amax(-1, keepdim=True)).half().float(), -1),
    ),
    "bfloat16 operands": (lambda x: x.sum(-1), lambda x: x.bfloat16().float().sum(-1)),
    "half accumulator": (lambda x: x @ x.T, lambda x: (x @ x.T).half().float()),
    "variance by squares": (
        lambda x: (x + 1000).var(-1, correction=0),
        lambda x: ((x + 1000) ** 2).mean(-1) - (x + 1000).mean(-1) ** 2,
    ),
    "last element dropped": (
        lambda x: F.rms_norm(x, (x.shape[-1],), None, EPS),
        lambda x: x * torch.rsqrt(x[:, :-1].square().sum(-1, keepdim=True) / x.shape[-1] + EPS),
    ),
    "eps forgotten": (
        lambda x: F.rms_norm(x * 1e-3, (x.shape[-1],), None, EPS),
        lambda x: (x * 1e-3) * torch.rsqrt((x * 1e-3).square().mean(-1, keepdim=True)),
    ),
    "gelu by tanh": (F.gelu, lambda x: F.gelu(x, approximate="tanh")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_arithmetic_is_outside_the_bound(fault: str) -> None:
    reference, kernel = FAULTS[fault]
    caught = collections.Counter[bool]()
    promises = Promises(order="tree")  # as the emulated kernels sum
    for seed in range(10):
        x = torch.randn(3, 57, generator=torch.Generator().manual_seed(seed))
        (ball,) = enclose(reference, [x], promises)
        caught[not judge(kernel(x), ball, promises).ok] += 1
    assert caught[True] >= (3 if fault == "eps in the softmax denominator" else 9), caught
