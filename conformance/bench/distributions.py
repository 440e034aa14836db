"""Sixteen distributions of values, half of them hostile: the data on which bounds and tolerances are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from conformance.balls.formats import FORMATS, Format

Array = npt.NDArray[Any]
Rng = np.random.Generator
Shape = tuple[int, ...]


def _sign(rng: Rng, shape: Shape) -> Array:
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


def normal(rng: Rng, shape: Shape, form: Format) -> Array:
    """Standard normal."""
    return rng.standard_normal(shape)


def uniform(rng: Rng, shape: Shape, form: Format) -> Array:
    """Uniform on (-1, 1)."""
    return rng.uniform(-1, 1, shape)


def every_exponent(rng: Rng, shape: Shape, form: Format) -> Array:
    """Log-uniform over the whole range of the format."""
    low = max(form.emin - form.precision + 1, -1070)
    values: Array = _sign(rng, shape) * np.exp2(rng.uniform(low, np.log2(form.largest), shape))
    return values


def some_exponents(rng: Rng, shape: Shape, form: Format) -> Array:
    """Log-uniform over sixteen binades."""
    values: Array = _sign(rng, shape) * np.exp2(rng.uniform(-8, 8, shape))
    return values


def cancelling(rng: Rng, shape: Shape, form: Format) -> Array:
    """Pairs that nearly sum to zero, shuffled within a row."""
    out = np.empty(shape)
    n = shape[-1]
    half = n // 2
    base = rng.standard_normal((*shape[:-1], half)) * np.exp2(rng.integers(-4, 5))
    out[..., :half] = base
    out[..., half : 2 * half] = -base * (1 + rng.standard_normal(base.shape) * form.unit * 4)
    if n % 2:
        out[..., -1] = rng.standard_normal(shape[:-1]) * form.unit
    values: Array = rng.permuted(out, axis=-1)
    return values


def offset(rng: Rng, shape: Shape, form: Format) -> Array:
    """A large mean and a small spread: what E[x**2] - E[x]**2 cannot do."""
    size = np.exp2(rng.uniform(2, min(form.precision, 14)))
    values: Array = _sign(rng, (*shape[:-1], 1)) * size + rng.standard_normal(shape)
    return values


def one_hot(rng: Rng, shape: Shape, form: Format) -> Array:
    """One large value a row."""
    out: Array = rng.standard_normal(shape) * np.exp2(-rng.uniform(0, 10))
    if shape[-1]:
        place = rng.integers(0, shape[-1], shape[:-1])
        value = _sign(rng, shape[:-1]) * np.exp2(rng.uniform(0, min(12, np.log2(form.largest) - 1)))
        np.put_along_axis(out, place[..., None], value[..., None], -1)
    return out


def subnormal(rng: Rng, shape: Shape, form: Format) -> Array:
    """Subnormal numbers."""
    step = np.ldexp(1.0, max(form.emin - form.precision + 1, -1074))
    values: Array = _sign(rng, shape) * rng.integers(0, 2 ** (form.precision - 1), shape) * step
    return values


def near_largest(rng: Rng, shape: Shape, form: Format) -> Array:
    """Close to overflow."""
    values: Array = _sign(rng, shape) * form.largest * rng.uniform(0.125, 1, shape)
    return values


def constant(rng: Rng, shape: Shape, form: Format) -> Array:
    """One value everywhere."""
    return np.full(shape, rng.standard_normal() * np.exp2(rng.integers(-6, 7)))


def small_whole(rng: Rng, shape: Shape, form: Format) -> Array:
    """Integers from -4 to 4."""
    return rng.integers(-4, 5, shape).astype(np.float64)


def negative(rng: Rng, shape: Shape, form: Format) -> Array:
    """All negative, over nine binades."""
    values: Array = np.negative(np.exp2(rng.uniform(-3, 6, shape)))
    return values


def positive(rng: Rng, shape: Shape, form: Format) -> Array:
    """Uniform on (0.5, 1.5)."""
    return rng.uniform(0.5, 1.5, shape)


def exponential_edges(rng: Rng, shape: Shape, form: Format) -> Array:
    """Where exp overflows or vanishes in float32 and float16."""
    edges = [88.0, 89.0, 90.0, -88.0, -89.0, -104.0, 11.0, 12.0, 0.0, -17.5]
    values: Array = rng.choice(edges, shape) + rng.choice([0, 0, 0.5, 1 / 3], shape)
    return values


def ascending(rng: Rng, shape: Shape, form: Format) -> Array:
    """Sorted normal values of spread 8."""
    values: Array = np.sort(rng.standard_normal(shape) * 8, axis=-1)
    return values


def units(rng: Rng, shape: Shape, form: Format) -> Array:
    """1 + k ulp: shows double rounding and TF32."""
    return 1 + rng.integers(0, 2 ** min(form.precision - 1, 52), shape) * 2.0 ** (1 - form.precision)


DISTRIBUTIONS: dict[str, Callable[[Rng, Shape, Format], Array]] = {
    function.__name__: function
    for function in (
        normal, uniform, every_exponent, some_exponents, cancelling, offset, one_hot, subnormal, near_largest, constant,
        small_whole, negative, positive, exponential_edges, ascending, units,
    )
}  # fmt: skip


def tensor(rng: Rng, shape: Shape, distribution: str, dtype: torch.dtype) -> torch.Tensor:
    """A contiguous CPU tensor of finite values from `distribution`, rounded to `dtype`."""
    form = FORMATS[dtype]
    with np.errstate(all="ignore"):
        values: Any = DISTRIBUTIONS[distribution](rng, shape, form)
    return torch.from_numpy(np.ascontiguousarray(values)).clamp(-form.largest, form.largest).to(dtype)


def size(rng: Rng, largest: int = 300) -> int:
    """A size at or beside a power of two, small, or log-uniform."""
    kind = rng.integers(0, 4)
    if kind == 0:
        return int(rng.integers(1, 9))
    if kind == 1:
        near = 2 ** rng.integers(1, int(np.log2(largest)) + 1) + rng.integers(-1, 2)
        return int(np.clip(near, 1, largest + 1))
    return int(np.exp(rng.uniform(0, np.log(largest)))) + 1
