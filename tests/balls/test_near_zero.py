"""expm1 and log1p near 0: the careful functions pass at their full documented error, the naive ones do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own alias

from conformance import accuracy
from conformance.balls import enclose, judge
from conformance.promises import Promises

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "expm1": (torch.expm1, np.expm1),
    "log1p": (torch.log1p, np.log1p),
}


def spread_arguments(seed: int) -> torch.Tensor:
    """Both signs and every exponent of float32 that matters, the subnormals and 0 among them."""
    rng = np.random.default_rng(seed)
    wide = rng.choice([-1.0, 1.0], 4000) * np.exp2(rng.uniform(-149, 6, 4000))
    edges = np.array(
        [0.0, -0.0, 2.0**-149, 0.3465, -0.3465, 0.3466, -0.3466, np.inf, -np.inf, np.nan, -1.0, 89.0, -200.0]
    )
    return torch.from_numpy(np.concatenate([wide, edges])).float()


@pytest.mark.parametrize("profile", ["portable", "interpret", "nvidia"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_careful_kernels_pass_at_their_full_documented_error(name: str, profile: Any) -> None:
    function, exact_of = FUNCTIONS[name]
    promises = Promises(profile=profile)
    x = spread_arguments(0)
    (ball,) = enclose(function, [x], promises)
    with np.errstate(all="ignore"):
        exact = exact_of(x.double().numpy())
        near = exact.astype(np.float32)
        kernels = [exact_of(x.numpy()), function(x).numpy(), near]
        ulp = accuracy.BY_NAME[name].ulp(profile) - 0.5
        # the unit of the exact value, and not of a rounded one in the next binade
        toward_zero = np.where(np.abs(near) > np.abs(exact), np.nextafter(near, np.float32(0)), near)
        unit = np.spacing(np.abs(toward_zero)).astype(np.float64)
        for skew in (-1.0, 1.0):
            off = (exact + skew * ulp * unit).astype(np.float32)
            # its own rounding, in the next binade, may exceed what is documented
            off = np.where(np.isfinite(near) & (np.abs(off - exact) <= (ulp + 0.5) * unit), off, near)
            kernels.append(off)
            if profile != "interpret":
                kernels.append(np.where(np.abs(off) < np.finfo(np.float32).tiny, off * 0, off))
    for got in kernels:
        verdict = judge(torch.from_numpy(np.array(got, np.float32)), ball, promises)
        assert verdict.ok, str(verdict)


@pytest.mark.parametrize("profile", ["portable", "interpret", "nvidia"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_inexact_argument_carries_its_error(name: str, profile: Any) -> None:
    function, _ = FUNCTIONS[name]
    promises = Promises(profile=profile)
    x = spread_arguments(1)
    (ball,) = enclose(lambda x: function(x * 0.3 + 0.1), [x], promises)
    verdict = judge(function(x * 0.3 + 0.1), ball, promises)
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_naive_formula_passes_only_where_the_reference_says_so(name: str) -> None:
    naive = {"expm1": lambda x: torch.exp(x) - 1, "log1p": lambda x: torch.log(1 + x)}[name]
    x = torch.tensor([1e-4, -1e-5, 1e-9])
    (careful,) = enclose(FUNCTIONS[name][0], [x], Promises())
    assert not judge(naive(x), careful, Promises()).ok
    (plain,) = enclose(naive, [x], Promises())
    assert judge(naive(x), plain, Promises()).ok


def test_activations_allow_the_naive_formulas() -> None:
    x = -spread_arguments(2).nan_to_num(posinf=1.0, neginf=1.0).abs()
    for reference, naive in ((F.elu, torch.exp(x) - 1), (F.softplus, torch.log(1 + torch.exp(x)))):
        (ball,) = enclose(reference, [x], Promises())
        verdict = judge(naive, ball, Promises())
        assert verdict.ok, str(verdict)
