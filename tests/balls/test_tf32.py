"""Products of operands cut to TF32, of every size down to the least float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.balls import enclose, judge
from conformance.promises import Promises

LEAST = 2.0**-149

REFERENCES: dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: a @ b,
    "einsum": lambda a, b: torch.einsum("ik,kj->ij", a, b),
    "linear": lambda a, b: torch.nn.functional.linear(a, b.T),
}


def cut(x: torch.Tensor) -> torch.Tensor:
    """Drops the 13 bits that TF32 lacks."""
    return (x.view(torch.int32) & -8192).view(torch.float32)


def product(a: torch.Tensor, b: torch.Tensor, dot: str) -> torch.Tensor:
    """The product of cut operands, accumulated in float64 and stored in float32."""
    big_a, big_b = cut(a), cut(b)
    out = big_a.double() @ big_b.double()
    if dot == "tf32x3":
        small_a, small_b = cut(a - big_a), cut(b - big_b)
        out = out + big_a.double() @ small_b.double() + small_a.double() @ big_b.double()
    return out.float()


def operands(kind: str, k: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    a, b = torch.randn(5, k, generator=generator), torch.randn(k, 6, generator=generator)
    if kind == "subnormal":
        a = (a * 2**17).round().double().mul(LEAST).float()
    elif kind == "mixed":
        a = a * torch.exp2(torch.randint(-150, 1, a.shape, generator=generator).double()).float()
        b = b * torch.exp2(torch.randint(0, 100, b.shape, generator=generator).double()).float()
    elif kind == "around the smallest normal":
        a = a * torch.exp2(torch.randint(-130, -105, a.shape, generator=generator).double()).float()
    return a, b


@pytest.mark.parametrize("kind", ["normal", "subnormal", "mixed", "around the smallest normal"])
@pytest.mark.parametrize("dot", ["tf32", "tf32x3"])
@pytest.mark.parametrize("name", REFERENCES)
def test_cut_operands_of_every_size_stay_within_the_bound(name: str, dot: Any, kind: str) -> None:
    promises = Promises(dot=dot)
    for seed, k in enumerate((1, 1, 1, 2, 3, 16, 64)):
        a, b = operands(kind, k, seed)
        (ball,) = enclose(REFERENCES[name], [a, b], promises)
        verdict = judge(product(a, b, dot), ball, promises)
        assert verdict.ok, str(verdict)


def test_a_subnormal_operand_may_be_off_by_one_quantum_and_no_more() -> None:
    a, b = torch.tensor([[LEAST * (2**20 + 8191)]]), torch.tensor([[1.0]])
    promises = Promises(dot="tf32")
    (ball,) = enclose(torch.matmul, [a, b], promises)
    assert judge(cut(a), ball, promises).ok
    assert not judge(cut(a) - LEAST * 2**14, ball, promises).ok
    (plain,) = enclose(torch.matmul, [a, b], Promises())
    assert not judge(cut(a), plain, Promises()).ok


def test_a_subnormal_operand_that_is_cut_to_0_leaves_its_product_with_infinity_undecided() -> None:
    a, b = torch.tensor([[LEAST, 1.0]]), torch.tensor([[torch.inf, 1.0], [1.0, torch.inf]])
    promises = Promises(dot="tf32")
    (ball,) = enclose(torch.matmul, [a, b], promises)
    verdict = judge(torch.tensor([[torch.nan, torch.inf]]), ball, promises)
    assert verdict.ok, str(verdict)
    assert not judge(torch.tensor([[torch.nan, torch.nan]]), ball, promises).ok


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_operands_are_not_cut(dtype: torch.dtype) -> None:
    a, b = torch.full((1, 1), 2.0**-24).to(dtype), torch.ones(1, 1, dtype=dtype)
    (ball,) = enclose(torch.matmul, [a, b], Promises(dot="tf32"))
    (plain,) = enclose(torch.matmul, [a, b], Promises())
    assert ball.rad.item() == plain.rad.item()
