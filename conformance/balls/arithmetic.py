"""Rules of elementwise arithmetic and selection."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from conformance.balls.comparisons import boolean
from conformance.balls.context import CURRENT, Array, Context
from conformance.balls.rounding import extent, rounded, rounded_exactly, specials, total
from conformance.balls.tensor import BallTensor, as_ball, operand, result_dtype


def add(x: Any, y: Any, *, alpha: float = 1) -> BallTensor:
    """x + alpha y: one rounding; exact in the subnormal range (Hauser's lemma)."""
    if alpha != 1:
        y = mul(y, alpha)
    c = CURRENT.get()
    a, b = operand(c, x), operand(c, y)
    out = _sum(c, a[0] + b[0], a, b, result_dtype(x, y))
    for sum_, term in ((x, b), (y, a)):
        if type(sum_) is BallTensor and sum_.begun is not None and sum_.shape == out.shape:
            _begin(c, out, sum_.begun, *term)
    return out


def sub(x: Any, y: Any, *, alpha: float = 1) -> BallTensor:
    """x - alpha y."""
    if alpha != 1:
        y = mul(y, alpha)
    c = CURRENT.get()
    a, b = operand(c, x), operand(c, y)
    out = _sum(c, a[0] - b[0], a, b, result_dtype(x, y))
    if type(x) is BallTensor and x.begun is not None and x.shape == out.shape:
        _begin(c, out, x.begun, -b[0], b[1])
    return out


def _begin(
    c: Context, out: BallTensor, begun: Callable[[Array, Array | None], BallTensor], term: Array, rad: Array | None
) -> None:
    """Let `out`, a sum and a term more, hold what a kernel gives that starts the sum with the term, as with a bias."""
    wider = begun(term, rad)
    if wider.rad is not None:
        out.rad = wider.rad if out.rad is None else np.maximum(out.rad, wider.rad)
        out.overflows = out.overflows or wider.overflows

    def with_more(more: Array, spread: Array | None) -> BallTensor:
        both = term + more
        return begun(both, np.abs(both) * c.u + extent(total(rad, spread), both))

    out.begun = with_more


def rsub(x: Any, y: Any, *, alpha: float = 1) -> BallTensor:
    """y - alpha x."""
    return sub(y, x, alpha=alpha)


def _sum(c: Context, mid: Array, a: Any, b: Any, dtype: torch.dtype) -> BallTensor:
    if a[1] is None and b[1] is None:
        return rounded_exactly(c, mid, dtype)
    return rounded(c, mid, total(a[1], b[1]), dtype, (a, b))


def mul(x: Any, y: Any) -> BallTensor:
    """x y: one rounding, and half the smallest subnormal where the product underflows."""
    c = CURRENT.get()
    first, second = operand(c, x), operand(c, y)
    factors = _factors(x, first[0]) + _factors(y, second[0])
    floor = c.eta if len(factors) == 2 else c.eta * _amplification(c, factors)
    out = _product(c, first, second, result_dtype(x, y), floor)
    out.factors = factors
    if len(factors) > 2:
        out.rad = in_any_order(out)
    return out


def in_any_order(product: BallTensor) -> Array | None:
    """The radius of a product where a kernel may have multiplied in another order: a rounding for each factor but one.

    That of the rounding of exact factors, which is known, holds for the one order alone.
    """
    if product.rad is None or not product.factors:
        return product.rad
    c = product.c
    least = np.abs(product.mid) * ((len(product.factors) - 1) * c.u)
    return np.maximum(product.rad, np.where(np.isfinite(least), least, 0))


def _factors(value: Any, mid: Array) -> tuple[Array, ...]:
    return (type(value) is BallTensor and value.factors) or (mid,)


def _amplification(c: Context, factors: tuple[Array, ...]) -> Any:
    """What the roundings of partial products of `factors` that underflow are multiplied by afterwards, at most.

    A kernel multiplies in the order it likes: `(1 - t * t) * dy * g` for the `dy * g * (1 - t * t)` of a reference.
    """
    sizes = [np.abs(f) for f in factors]
    least = functools.reduce(np.multiply, [np.minimum(size, 1) for size in sizes])
    reached = (least < c.tiny) & (least > 0)
    if not reached.any():
        return c.real(1)
    above = np.sort(np.stack(np.broadcast_arrays(*(np.maximum(size, 1) for size in sizes))), axis=0)
    # the first two make up the partial product
    after = np.multiply.reduce(above[2:], axis=0)
    return np.where(reached & np.isfinite(after), after * (len(factors) - 1), 1.0)


def _product(
    c: Context, x: tuple[Array, Array | None], y: tuple[Array, Array | None], dtype: torch.dtype, floor: Any
) -> BallTensor:
    (a, ra), (b, rb) = x, y
    mid = a * b
    if ra is None and rb is None:
        # only with the two factors of one order is the error of the rounding known
        exactly = np.ndim(floor) == 0
        return rounded_exactly(c, mid, dtype, floor=floor) if exactly else rounded(c, mid, None, dtype, floor=floor)
    if ra is None:
        rad = np.abs(a) * rb
    elif rb is None:
        rad = np.abs(b) * ra
    else:
        rad = (np.abs(a) + ra) * rb + np.abs(b) * ra
    if not c.finite(rad):
        # an infinite factor times an interval that excludes zero is that infinity
        certain = (np.isinf(a) & (np.abs(b) > extent(rb, b))) | (np.isinf(b) & (np.abs(a) > extent(ra, a)))
        zero_a, zero_b = (a == 0) & (extent(ra, a) == 0), (b == 0) & (extent(rb, b) == 0)
        nan = np.isnan(a) | np.isnan(b) | (np.isinf(a) & zero_b) | (np.isinf(b) & zero_a)
        known = np.isfinite(extent(ra, a)) & np.isfinite(extent(rb, b))
        rad = np.where((certain | nan) & known, 0, np.where(np.isnan(rad), np.inf, rad))
        out = rounded(c, mid, rad, dtype, ((a, ra), (b, rb)), floor=floor)
        out.rad = np.where(~np.isfinite(mid) & ~((certain | nan) & known) & ~np.isfinite(rad), np.inf, out.own_radius())
        return out
    return rounded(c, mid, rad, dtype, ((a, ra), (b, rb)), floor=floor)


def div(x: Any, y: Any, *, rounding_mode: str | None = None) -> BallTensor:
    """x / y with the error of the compute dtype's division; undecided where the divisor may be zero."""
    c = CURRENT.get()
    if rounding_mode is not None:
        return _rounded_to_integer(div(x, y), np.floor if rounding_mode == "floor" else np.trunc)
    (a, ra), (b, rb) = operand(c, x), operand(c, y)
    dtype = result_dtype(x, y)
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    return rounded_quotient(c, (a, ra), (b, rb), dtype)


def rounded_quotient(
    c: Context, x: tuple[Array, Array | None], y: tuple[Array, Array | None], dtype: torch.dtype
) -> BallTensor:
    """The ball of a division of balls."""
    (a, ra), (b, rb) = x, y
    mid = a / b
    rad: Array | None = None
    if rb is not None:
        low = np.abs(b) - rb
        rad = (np.abs(mid) * rb + (0 if ra is None else ra)) / np.where(low > 0, low, np.nan)
    elif ra is not None:
        rad = ra / np.abs(b)
    if rad is not None and not c.finite(rad):
        rad = np.where(np.isnan(rad), np.inf, rad)
    if rb is None and b.size == 1 and math.frexp(abs(b.item()))[0] == 0.5:
        # by a power of two: the reciprocal and the product with it are exact, unless the result is subnormal
        size = np.abs(mid)
        if c.finite(size) and not ((size < c.tiny) & (size > 0)).any():
            return BallTensor(c, mid, rad, dtype, rad is not None and not c.finite(rad))
    floor = c.eta + c.flush
    if b.size < mid.size:
        # one divisor for many: its reciprocal may be computed once, and multiplied
        own = np.abs(mid) * c.div
        spread = own if rad is None else rad + own
        return rounded(c, mid, spread, dtype, (x, y, (mid, rad)), floor=floor + c.eta)
    return rounded(c, mid, rad, dtype, (x, y, (mid, rad)), ulps=c.div, floor=floor)


def remainder(x: Any, y: Any) -> BallTensor:
    """x - y floor(x / y); undecided where rounding may move the quotient across an integer."""
    c = CURRENT.get()
    (a, ra), (b, rb) = operand(c, x), operand(c, y)
    mid = np.remainder(a, b)
    if ra is None and rb is None:
        return BallTensor(c, mid, None, result_dtype(x, y))
    quotient = div(x, y)
    q, rq = quotient.operand()
    crosses = np.floor(q - extent(rq, q)) != np.floor(q + extent(rq, q))
    rad = np.where(crosses, np.inf, extent(ra, a) + np.abs(np.floor(q)) * extent(rb, b))
    return rounded(c, mid, rad, result_dtype(x, y), ((a, ra), (b, rb)))


def neg(x: Any) -> BallTensor:
    """-x, exact."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    return BallTensor(c, -mid, rad, x.dtype)


def absolute(x: Any) -> BallTensor:
    """|x|, exact."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    return BallTensor(c, np.abs(mid), rad, x.dtype)


def sign(x: Any) -> BallTensor:
    """The sign; undecided where the interval holds zero."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    if rad is not None:
        rad = np.where(np.abs(mid) > rad, 0, np.where(rad == 0, 0, 2.0))
    return BallTensor(c, np.sign(mid), rad, x.dtype)


def square(x: Any) -> BallTensor:
    """x x."""
    return mul(x, x)


def reciprocal(x: Any) -> BallTensor:
    """1 / x."""
    return div(1.0, x)


def addcmul(x: Any, y: Any, z: Any, *, value: float = 1) -> BallTensor:
    """x + value y z."""
    product = mul(y, z)
    return add(x, product if value == 1 else mul(product, value))


def addcdiv(x: Any, y: Any, z: Any, *, value: float = 1) -> BallTensor:
    """x + value y / z."""
    quotient = div(y, z)
    return add(x, quotient if value == 1 else mul(quotient, value))


def lerp(x: Any, y: Any, weight: Any) -> BallTensor:
    """x + weight (y - x)."""
    return add(x, mul(weight, sub(y, x)))


# selection ------------------------------------------------------------------------------------------------------------


def _extremum(x: Any, y: Any, choose: Callable[[Array, Array], Array]) -> BallTensor:
    c = CURRENT.get()
    (a, ra), (b, rb) = operand(c, x), operand(c, y)
    mid = choose(a, b)
    rad = None
    if ra is not None or rb is not None:
        wide_a, wide_b = np.broadcast_arrays(extent(ra, a), extent(rb, b))
        # where the intervals do not touch, the winner's radius is the result's
        first = np.where(mid == a, a - b, b - a) > wide_a + wide_b
        rad = np.where(first, np.where(mid == a, wide_a, wide_b), np.maximum(wide_a, wide_b))
    if c.promises.nan == "ignore":
        rad = np.where(np.isnan(mid), np.inf, extent(rad, mid))
    return BallTensor(c, mid, rad, result_dtype(x, y))


def maximum(x: Any, y: Any) -> BallTensor:
    """The larger of two, exact."""
    return _extremum(x, y, np.maximum)


def minimum(x: Any, y: Any) -> BallTensor:
    """The smaller of two, exact."""
    return _extremum(x, y, np.minimum)


def fmax(x: Any, y: Any) -> BallTensor:
    """The larger of two; NaN loses."""
    return _extremum(x, y, np.fmax)


def fmin(x: Any, y: Any) -> BallTensor:
    """The smaller of two; NaN loses."""
    return _extremum(x, y, np.fmin)


def clamp(x: Any, min: Any = None, max: Any = None) -> BallTensor:
    """x limited to [min, max], exact."""
    if min is not None:
        x = maximum(x, min)
    return minimum(x, max) if max is not None else x


def relu(x: Any, inplace: bool = False) -> BallTensor:
    """max(x, 0), exact."""
    return maximum(x, 0.0)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Elements of x where the condition holds, else of y."""
    c = CURRENT.get()
    if x is None:
        return torch.where(condition)
    if type(condition) is BallTensor and condition.dtype is not torch.bool:
        condition, x = x, condition  # the method: x.where(condition, y)
    choice = boolean(c, condition)
    (a, ra), (b, rb) = operand(c, x), operand(c, y)
    rad = None if ra is None and rb is None else np.where(choice, extent(ra, a), extent(rb, b))
    return BallTensor(c, np.where(choice, a, b), rad, result_dtype(x, y))


def masked_fill(x: Any, mask: Any, value: Any) -> BallTensor:
    """x with `value` where the mask holds."""
    out: BallTensor = where(mask, value, x)
    out.dtype = x.dtype
    return out


def nan_to_num(x: Any, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> BallTensor:
    """x with special values replaced."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    largest = torch.finfo(x.dtype).max
    high = largest if posinf is None else posinf
    low = -largest if neginf is None else neginf
    return BallTensor(c, np.nan_to_num(mid, nan=nan or 0.0, posinf=high, neginf=low), rad, x.dtype)


# to integers ----------------------------------------------------------------------------------------------------------


def _rounded_to_integer(x: Any, to_integer: Callable[[Array], Array]) -> BallTensor:
    c = CURRENT.get()
    mid, rad = operand(c, x)
    out = to_integer(mid)
    if rad is not None:
        rad = np.maximum(to_integer(mid + rad) - out, out - to_integer(mid - rad))
        rad = specials(c, out, rad, (mid, rad))
    return BallTensor(c, out, rad, x.dtype)


def floor(x: Any) -> BallTensor:
    """The next integer below; every integer that the interval reaches is allowed."""
    return _rounded_to_integer(x, np.floor)


def ceil(x: Any) -> BallTensor:
    """The next integer above."""
    return _rounded_to_integer(x, np.ceil)


def trunc(x: Any) -> BallTensor:
    """The integer towards zero."""
    return _rounded_to_integer(x, np.trunc)


def nearest(x: Any, decimals: int = 0) -> BallTensor:
    """The nearest integer, ties to even."""
    if decimals:
        scale = 10.0**decimals
        return div(nearest(mul(x, scale)), scale)
    return _rounded_to_integer(x, np.rint)


def power(x: Any, exponent: Any) -> BallTensor:
    """x ** exponent: small whole powers by multiplication, roots by the root, others by `pow`."""
    c = CURRENT.get()
    if isinstance(exponent, (int, float)):
        if exponent == 1:
            return as_ball(c, x)
        if exponent in (2, 4):
            return square(x) if exponent == 2 else square(square(x))
        if exponent == 3:
            return mul(square(x), x)
        if exponent in (0.5, -0.5):
            return c.rules["sqrt" if exponent > 0 else "rsqrt"](x)  # type: ignore[no-any-return]
        if exponent == -1:
            return reciprocal(x)
        if exponent == -2:
            return reciprocal(square(x))
    (a, ra), (b, rb) = operand(c, x), operand(c, exponent)
    mid = np.power(a, b)
    relative = extent(rb, b) * np.abs(np.log(np.where(a > 0, a, 1))) + np.abs(b) * extent(ra, a) / np.where(
        np.abs(a) > extent(ra, a), np.abs(a) - extent(ra, a), np.where(extent(ra, a) == 0, 1, 0)
    )
    # exp2(b log2(a)): the rounding of the exponent grows with its size
    relative = relative + 4 * c.u * np.abs(b) * np.abs(np.log(np.where(a > 0, a, 1)))
    rad = np.abs(mid) * np.expm1(np.minimum(relative, 700.0))
    rad = specials(c, mid, np.where(np.isnan(rad), np.inf, rad), (a, ra), (b, rb))
    return rounded(
        c, mid, rad, result_dtype(x, exponent), ((a, ra), (b, rb)), ulps=c.ulps["pow"], floor=c.eta + c.flush
    )


def whole(x: Array) -> bool:
    """True if every element is an integer."""
    # of numbers that are not all whole the first is seldom whole
    if x.size and not x.item(0).is_integer():
        return False
    return bool(np.logical_and.reduce(x == np.rint(x), axis=None)) and math.isfinite(float(np.abs(x).max(initial=0)))
