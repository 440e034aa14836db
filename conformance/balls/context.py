"""The arithmetic that a kernel promises: unit roundoff, range, function errors and summation depth."""

from __future__ import annotations

import contextvars
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from conformance import accuracy
from conformance.balls.formats import FORMATS, TF32_OPERAND, TF32X3_PRODUCT
from conformance.balls.scalars import Scalar
from conformance.promises import Promises

Array = npt.NDArray[Any]

LOG2E = math.log2(math.e)
# 1.44269502..., rounded up
LOG2E_ERROR = abs(float(np.float32(LOG2E)) - LOG2E) / LOG2E * 1.01

# an array, and types as NumPy keeps them: a scalar and a class are first made into those, at a third of the cost
_EXPONENT = np.array(0x7FF0000000000000, np.int64)
_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


def power_below(x: Array) -> Array:
    """The largest power of two not above each |x| in float64 (0 for subnormals, inf for inf and NaN).

    Half a unit in the last place of a format with unit roundoff u is `u * power_below(x)`: tighter than `u * |x|` by
    up to a factor of two, and cheaper, since it is one mask of the bits.
    """
    return (x.view(_INT64) & _EXPONENT).view(_FLOAT64)


def power_below_long(x: Array) -> Array:
    """The same for extended precision."""
    _, exponent = np.frexp(x)
    power = np.ldexp(np.longdouble(0.5), exponent)
    return np.where(np.isfinite(x), np.where(x == 0, 0, power), np.inf).astype(np.longdouble)


def peak(size: Array) -> Any:
    """The largest element of an array that is nowhere negative: NaN if one is, 0 if there is none.

    By its index: of the few elements that most arrays have, NumPy finds that in a third of the time of a reduction.
    """
    return size.item(size.argmax()) if size.size else 0.0


def trough(x: Array) -> Any:
    """The smallest element of an array: NaN if one is, infinity if there is none."""
    return x.item(x.argmin()) if x.size else math.inf


class Context:
    """The arithmetic of one enclosure.

    `real` is the type of midpoints: float64, or the 80-bit extended type of x86 for float64 kernels (float64 where the
    platform has no such type). `u` is the unit roundoff of the compute dtype, a little enlarged so that it also covers
    the rounding of the midpoint itself. `rules` is the table of rules by torch name.
    """

    def __init__(self, promises: Promises, compute: torch.dtype, rules: dict[str, Callable[..., Any]]) -> None:
        form = FORMATS[compute]
        double = compute is torch.float64
        self.promises = promises
        self.compute = compute
        extended = double and np.finfo(np.longdouble).nmant > 52
        self.real: type[np.floating[Any]] = np.longdouble if extended else np.float64
        self.power: Callable[[Array], Array] = power_below_long if extended else power_below
        self.eps = float(np.finfo(self.real).eps)
        self.unit = form.unit
        # covers the rounding of the midpoint: 2**-52 against 2**-24, or 2**-63 against 2**-53
        self.u = form.unit * (1 + (2.0**-8 if extended else 1.0 if double else 2.0**-26))
        # half the smallest subnormal; a whole one where float64 midpoints cannot hold half of float64's
        self.eta: Any = self.real(2) ** max(form.emin - form.precision, -1075 if extended else -1074)
        self.tiny = form.tiny
        self.largest = form.largest
        # a NumPy type that rounds as the compute dtype does, where one exists and the midpoint is wide enough for it
        natives: dict[torch.dtype, type[np.floating[Any]]] = {torch.float32: np.float32, torch.float16: np.float16}
        if extended:
            natives[torch.float64] = np.float64
        self.native = natives.get(compute)
        self.flush = form.tiny if promises.profile != "interpret" and not double else 0.0
        self.exp_through_exp2 = promises.profile != "interpret" and not double
        # relative error of log2(e) held in float32, where an exponential multiplies by it
        self.log2e_error = LOG2E_ERROR if self.exp_through_exp2 else 0.0
        self.ulps = {
            row.function: (row.float64 if double else row.ulp(promises.profile)) * 2 * self.u for row in accuracy.TABLE
        }
        self.div = self.ulps["div"]
        # sqrt.approx promises 2**-23 relative to the result (PTX ISA), which is less than its 2 ulp
        self.root_relative = 2 * self.u if self.ulps["sqrt"] > 1.5 * self.u else 0.0
        accumulator = promises.accumulator or compute
        self.acc_u = max(FORMATS[accumulator].unit * (self.u / self.unit), self.u)
        self.dot_operand = TF32_OPERAND if promises.dot == "tf32" and not double else 0.0
        self.dot_product = TF32X3_PRODUCT if promises.dot == "tf32x3" and not double else 0.0
        self.rules = rules

    def depth(self, n: int) -> int:
        """Roundings on the longest path of a sum of `n` terms.

        A tree in a block: each lane adds up to n / 256 terms in turn, then 8 levels of lanes and the partial sums of
        loops and of NumPy's pairwise blocks (24 in all); in any order n - 1.
        """
        if n <= 1:
            return 0
        return n - 1 if self.promises.order == "any" else min(n - 1, math.ceil(n / 256) + 24)

    def root_error(self, root: Array) -> Array:
        """Largest error of a square root whose exact value is `root`."""
        return root * self.root_relative if self.root_relative else self.power(root) * self.ulps["sqrt"]

    def gamma(self, h: int, u: float) -> float:
        """Higham's gamma: the relative growth of `h` roundings of unit `u` (inf where the bound says nothing)."""
        return h * u / (1 - h * u) if h * u < 1 else math.inf

    def finite(self, reach: Array) -> bool:
        """True if every magnitude (NaN counts as infinite) is below the largest of the compute dtype."""
        return bool(peak(reach) < self.largest)

    def constant(self, value: float) -> tuple[Array, Array | None]:
        """A Python number as midpoint and radius: the kernel may hold it in the compute dtype."""
        number = float(value)  # a scalar's own arithmetic carries radii along
        mid = np.asarray(number, dtype=self.real)
        if self.native is None or not math.isfinite(number):
            return mid, None
        # a host that computes a scalar rounds it once, a kernel that computes it rounds at each step
        radius = max(abs(float(self.native(number)) - number), value.radius if isinstance(value, Scalar) else 0.0)
        return mid, np.asarray(radius, dtype=self.real) if radius else None


CURRENT: contextvars.ContextVar[Context] = contextvars.ContextVar("arithmetic of the running enclosure")
NOTED: contextvars.ContextVar[list[str]] = contextvars.ContextVar("operations in it that have no proven rule")


def note(name: str) -> None:
    """Record that operation `name` has no proven bound."""
    noted = NOTED.get()
    if name not in noted:
        noted.append(name)
