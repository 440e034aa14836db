"""Scalar arguments: what a kernel may make of a Python float that it is given in its compute dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


class Scalar(float):
    """A float argument of a reference, with the distance at which a kernel may hold it.

    A reference computes with Python's doubles what a kernel computes in its own dtype: `1 - p` cancels, and what the
    kernel gets of `p` is rounded to float32 (Triton and CUDA pass floats so). `native` is that rounding, `unit` its
    unit roundoff. A function of `math` gives a plain float, which counts as exact up to its own rounding.

    >>> import numpy
    >>> keep = 1 - Scalar(0.999, numpy.float32, 2.0**-24)
    >>> float(keep) == 1 - 0.999, abs(float(1 - numpy.float32(0.999)) - keep) <= keep.radius
    (True, True)
    """

    __slots__ = ("native", "radius", "unit")

    native: Callable[[float], Any]
    unit: float
    radius: float

    def __new__(cls, value: float, native: Callable[[float], Any], unit: float, radius: float = 0.0) -> Scalar:
        """The float, `radius` off before it is rounded itself."""
        made = super().__new__(cls, value)
        made.native, made.unit = native, unit
        if radius:
            made.radius = radius + unit * (abs(value) + radius)
        else:
            made.radius = abs(float(native(value)) - value) if math.isfinite(value) else 0.0
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (float(self),)

    def _made(self, value: float, radius: float) -> Scalar:
        return Scalar(value, self.native, self.unit, radius)

    def __add__(self, other: Any) -> Any:
        return (
            self._made(float(self) + float(other), self.radius + _radius(other)) if _number(other) else NotImplemented
        )

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return (
            self._made(float(self) - float(other), self.radius + _radius(other)) if _number(other) else NotImplemented
        )

    def __rsub__(self, other: Any) -> Any:
        return (
            self._made(float(other) - float(self), self.radius + _radius(other)) if _number(other) else NotImplemented
        )

    def __mul__(self, other: Any) -> Any:
        if not _number(other):
            return NotImplemented
        radius = (abs(float(self)) + self.radius) * _radius(other) + abs(float(other)) * self.radius
        return self._made(float(self) * float(other), radius)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._quotient(self, other) if _number(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return self._quotient(other, self) if _number(other) else NotImplemented

    def _quotient(self, above: float, below: float) -> Scalar:
        value = float(above) / float(below)
        least = abs(float(below)) - _radius(below)
        radius = (_radius(above) + abs(value) * _radius(below)) / least if least > 0 else math.inf
        return self._made(value, radius)

    def __pow__(self, exponent: Any, modulus: None = None) -> Any:
        if not _number(exponent) or isinstance(exponent, Scalar):
            return float(self) ** exponent
        value = float(self) ** exponent
        if isinstance(value, complex) or not self or value == 0:
            return value
        relative = math.expm1(min(700.0, abs(exponent) * self.radius / abs(float(self)))) + 2 * self.unit
        return self._made(value, abs(value) * relative)

    def __neg__(self) -> Scalar:
        made = self._made(-float(self), 0.0)
        made.radius = self.radius
        return made

    def __pos__(self) -> Scalar:
        return self

    def __abs__(self) -> Scalar:
        return -self if self < 0 else self


def _number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _radius(value: float) -> float:
    return value.radius if isinstance(value, Scalar) else 0.0
