"""Domains: which numbers an argument may hold, as a projection that puts any data inside."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy

from strategies.choices import refuse
from strategies.distributions import Array
from strategies.dtypes import Format


@dataclasses.dataclass(frozen=True, slots=True)
class Domain:
    """A set of numbers that an argument is allowed to hold; made by `positive()`, `bounded(...)` and the like."""

    kind: str = "real"
    low: float = 0.0
    high: float = 0.0

    def __repr__(self) -> str:
        bounds = f"{self.low:g}, {self.high:g}" if self.kind in ("bounded", "integers", "ties") else ""
        return f"{self.kind}({bounds})"

    def project(self, x: Array, f: Format) -> Array:
        """`x` (rows by columns, float64) moved into the domain; what is inside already stays as it is, but for
        `probabilities`, which scale each row to the sum 1, and `ties`, which move every number to the next half."""
        if self.kind == "real":
            return x
        if self.kind == "positive":
            return numpy.where(x == 0, 1.0, numpy.maximum(numpy.abs(x), f.smallest))
        if self.kind == "nonzero":
            return numpy.where(x == 0, 1.0, x)
        if self.kind == "unit":
            x = numpy.abs(x)
            return numpy.where(x > 1, 1.0 / numpy.maximum(x, 1.0), x)
        if self.kind == "probabilities":
            x = numpy.abs(x) + (x == 0).all(axis=1, keepdims=True)
            with numpy.errstate(invalid="ignore"):  # an infinite element of the special lane makes the row NaN
                x = x / x.max(axis=1, keepdims=True)
                return numpy.asarray(x / x.sum(axis=1, keepdims=True))
        if self.kind == "integers":
            return numpy.rint(x).clip(self.low, self.high)
        if self.kind == "ties":
            unit = self.low
            reach = 2.0 ** (f.digits - 1) / 2
            return (numpy.floor(x.clip(-reach * unit, reach * unit) / unit).clip(-reach, reach - 1) + 0.5) * unit
        return x.clip(self.low, self.high).clip(-f.largest, f.largest)

    def whole(self, low: int, high: int) -> tuple[int, int]:
        """The smallest and largest whole number of the domain between `low` and `high`, the limits of a type."""
        if self.kind in ("integers", "bounded"):
            return max(low, math.ceil(self.low)), min(high, math.floor(self.high))
        if self.kind in ("positive", "nonzero"):
            return 1, high
        return (0, 1) if self.kind == "unit" else (low, high)

    def to_json(self) -> list[Any]:
        """Kind and bounds."""
        return [self.kind, self.low, self.high]


REAL = Domain()


def real() -> Domain:
    """All finite numbers of the element type (the default)."""
    return REAL


def positive() -> Domain:
    """Numbers above zero, not below the smallest normal one: scales, variances, temperatures."""
    return Domain("positive")


def nonzero() -> Domain:
    """Every number but zero: divisors."""
    return Domain("nonzero")


def unit() -> Domain:
    """Numbers from 0 to 1, both included."""
    return Domain("unit")


def probabilities() -> Domain:
    """Numbers from 0 to 1 whose sum along the last axis is 1 up to rounding."""
    return Domain("probabilities")


def ties(*, step: float = 1.0) -> Domain:
    """Numbers exactly half-way between two multiples of `step`, (n + 0.5) * step: every rounding to `step` is a tie.

    `step` must be a power of two, so that the numbers are exact. Raises InvalidArgument otherwise.
    """
    if not step > 0 or numpy.frexp(step)[0] != 0.5:
        raise refuse("step", step, "give a power of two, so that the half-way numbers are exact")
    return Domain("ties", low=float(step))


def integers(low: int, high: int) -> Domain:
    """Whole numbers from `low` to `high`, both included. Raises InvalidArgument where `low` exceeds `high`."""
    if low > high:
        raise refuse("low", low, f"must not exceed high={high!r}")
    return Domain("integers", low, high)


def bounded(low: float, high: float) -> Domain:
    """Numbers from `low` to `high`, both included, or to the largest of the element type. Raises InvalidArgument where
    they are not finite and ordered."""
    if not -numpy.inf < low <= high < numpy.inf:
        raise refuse("low", low, f"give finite bounds with low <= high (high={high!r})")
    return Domain("bounded", float(low), float(high))
