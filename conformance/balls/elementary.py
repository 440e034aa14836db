"""Rules of roots, exponentials, logarithms and activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from conformance.accuracy import LOG_NEAR_ONE
from conformance.balls import arithmetic, comparisons
from conformance.balls.context import CURRENT, LOG2E, Array, Context, peak, trough
from conformance.balls.rounding import extent, rounded, specials, total
from conformance.balls.tensor import BallTensor, operand

LN2 = math.log(2.0)

# expm1 and log1p are there for arguments near 0. Who writes them asks for that; a kernel that computes exp(x) - 1 has
# that as its reference. The bound of fdlibm's range reduction, ln(2) / 2, below which no exponential is taken
NEAR_ZERO = LN2 / 2


def _floating(x: Any) -> torch.dtype:
    dtype: torch.dtype = x.dtype
    return dtype if dtype.is_floating_point else torch.get_default_dtype()


def exponent_error(c: Context, mid: Array, rad: Array | None) -> Array | None:
    """Error of the argument of an exponential: its own radius and, through exp2, the product by log2(e).

    For an exact argument the float32 product is carried out, so its actual error is known and no bound is needed.
    """
    if not c.exp_through_exp2:
        return rad
    if rad is None and c.native is np.float32:
        product = (mid.astype(np.float32) * np.float32(LOG2E)).astype(np.float64)
        return np.asarray(np.abs(product * LN2 - mid))
    size = np.abs(mid)
    wide = size if rad is None else size + rad
    error: Array = c.power(np.asarray(wide * LOG2E)) * (c.u * LN2) + wide * c.log2e_error
    return error if rad is None else np.asarray(error + rad)


def growth(argument: Array) -> Array:
    """exp(argument) - 1, from above and cheaply: a + a*a for a <= 1."""
    out: Array = argument * argument
    out += argument
    if not peak(argument) <= 1:
        out = np.where(np.isnan(argument), np.inf, np.expm1(np.minimum(argument, 700.0)))
    return out


def exp(x: Any) -> BallTensor:
    """exp(x): exactly 1 at an exact 0 and exactly 0 at -inf (PTX ISA, ex2.approx)."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    return exponential(c, np.exp(mid), mid, rad, exponent_error(c, mid, rad), "exp", _floating(x))


def exp2(x: Any) -> BallTensor:
    """2**x."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    return exponential(c, np.exp2(mid), mid, rad, None if rad is None else rad * LN2, "exp2", _floating(x))


def exponential(
    c: Context, value: Array, mid: Array, rad: Array | None, argument: Array | None, name: str, dtype: torch.dtype
) -> BallTensor:
    """The ball of an exponential `value` of `mid`, whose argument is off by `argument`."""
    spread = None if argument is None else value * growth(argument)
    if spread is not None and not c.finite(spread):
        spread = np.where(np.isneginf(mid), 0, np.where(np.isnan(spread), np.inf, spread))
        spread = specials(c, value, spread, (mid, rad))
    out = rounded(c, value, spread, dtype, ((mid, rad),), ulps=c.ulps[name], floor=2 * c.eta + c.flush)
    certain = (mid == 0) | np.isneginf(mid)
    if certain.any():
        out.rad = np.where(certain & (extent(rad, mid) == 0), 0, out.own_radius())
    return out


def expm1(x: Any) -> BallTensor:
    """exp(x) - 1, to the accuracy of the careful function near 0; further out a kernel may subtract."""
    return _exp_minus_one(x, NEAR_ZERO)


def _exp_minus_one(x: Any, careful_below: float) -> BallTensor:
    c = CURRENT.get()
    mid, rad = operand(c, x)
    value = np.expm1(mid)
    own = extent(rad, mid)
    argument = exponent_error(c, mid, rad)
    subtracted = growth(extent(argument, mid)) + c.ulps["exp"]
    spread = (value + 1) * np.where(np.abs(mid) + own < careful_below, growth(own), subtracted)
    ulps = c.ulps["expm1"]
    return rounded(c, value, spread, _floating(x), ((mid, rad),), ulps=ulps, floor=_least(c, ulps))


def _least(c: Context, ulps: float) -> float:
    """An error of `ulps` where units in the last place are smallest, among the subnormals, or a flush to 0."""
    return float(ulps / c.u * c.eta + c.flush)


def log(x: Any) -> BallTensor:
    """ln(x)."""
    return _logarithm(x, np.log, "log", 1.0)


def log2(x: Any) -> BallTensor:
    """The binary logarithm."""
    return _logarithm(x, np.log2, "log", 1 / LN2)


def log10(x: Any) -> BallTensor:
    """The decimal logarithm."""
    return _logarithm(x, np.log10, "log", 1 / math.log(10.0))


def _logarithm(x: Any, function: Callable[[Array], Array], name: str, scale: float) -> BallTensor:
    c = CURRENT.get()
    mid, rad = operand(c, x)
    return logarithm(c, function(mid), mid, rad, scale, c.ulps[name], _floating(x))


def logarithm(
    c: Context, value: Array, mid: Array, rad: Array | None, scale: float, ulps: float, dtype: torch.dtype
) -> BallTensor:
    """The ball of a logarithm `value` of `mid`: lg2.approx promises an absolute error near 1 and flushes below tiny."""
    spread: Array | None = None
    if rad is not None:
        inside = rad < np.abs(mid)
        spread = np.where(inside, -np.log1p(-rad / np.where(inside, mid, 1)) * scale, np.where(rad == 0, 0, np.inf))
        spread = np.abs(spread)
    if c.flush:
        near = np.where((mid > 0.5) & (mid < 2), LOG_NEAR_ONE * scale, 0.0)
        spread = near if spread is None else spread + near
        flushed = (mid != 0) & (np.abs(mid) < c.tiny)
        if flushed.any():
            spread = np.where(flushed, np.inf, spread)
    known = None if rad is None else np.where(rad < np.abs(mid), 0, rad + np.where(rad == 0, 0, np.inf))
    return rounded(c, value, spread, dtype, ((mid, known),), ulps=ulps)


def log1p(x: Any) -> BallTensor:
    """ln(1 + x), to the accuracy of the careful function near 0; further out a kernel may add first."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    value, shifted, own = np.log1p(mid), mid + 1, extent(rad, mid)
    out = logarithm(c, value, shifted, c.power(np.abs(shifted)) * c.u + own, 1.0, c.ulps["log"], _floating(x))
    near = np.abs(mid) + own < NEAR_ZERO
    if near.any():
        spread = -np.log1p(-own / shifted)
        ulps = c.ulps["log1p"]
        careful = spread + c.power(np.abs(value) + spread) * ulps + _least(c, ulps)
        out.rad = np.where(near, careful, out.own_radius())
    return out


def sqrt(x: Any) -> BallTensor:
    """The square root; operands below the smallest normal may be flushed."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    value = np.sqrt(mid)
    spread = root_spread(c, value, mid, rad)
    if c.root_relative:
        wide = c.root_error(value if spread is None else value + spread)
        spread = wide if spread is None else wide + spread
        return rounded(c, value, spread, _floating(x), ((mid, rad),), ulps=0.0)
    return rounded(c, value, spread, _floating(x), ((mid, rad),), ulps=c.ulps["sqrt"])


def root_spread(c: Context, root: Array, mid: Array, rad: Array | None) -> Array | None:
    """How far the square root of an operand within `mid` +- `rad` is from `root`."""
    spread: Array | None = None
    if rad is not None:
        least = mid - rad
        if trough(least) >= c.tiny:
            return np.asarray(rad / (root + np.sqrt(least)))
        low = np.sqrt(np.maximum(least, 0))
        spread = np.where(rad > 0, rad / np.maximum(root + low, c.tiny), 0)
        spread = np.where(mid + rad < 0, 0, np.where(np.isnan(spread), np.inf, spread))
    if c.flush:
        flushed = (mid != 0) & (mid < c.tiny)
        if flushed.any():
            spread = total(spread, np.where(flushed, math.sqrt(c.tiny), 0.0))
    return spread


def rsqrt(x: Any) -> BallTensor:
    """1 / sqrt(x), by one instruction or by a root and a division."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    value, spread = reciprocal_root(c, mid, rad)
    return rounded(c, value, spread, _floating(x), ((mid, rad), (value, spread)), ulps=c.ulps["rsqrt"], floor=c.flush)


def reciprocal_root(c: Context, mid: Array, rad: Array | None) -> tuple[Array, Array]:
    """1 / sqrt(mid) and its radius before the rounding of `rsqrt` (which the caller adds)."""
    root = np.sqrt(mid)
    value = 1 / root
    spread = root_spread(c, root, mid, rad)
    # error of sqrt and div in excess of what the rounding of rsqrt will account for
    size = np.abs(value)
    excess = size * (c.root_error(root) / root) + (c.div - c.ulps["rsqrt"]) * c.power(size)
    out = np.maximum(excess, 0)
    out *= 1 + 4 * c.u
    if spread is not None:
        low = root - spread
        if trough(low) > 0:
            size *= spread
            size /= low
            out += size
        else:
            out += np.where(low > 0, size * spread / np.where(low > 0, low, 1), np.inf)
    if trough(mid) >= c.tiny and peak(out) < math.inf:
        return value, out
    if c.flush:
        out = np.where((mid > 0) & (mid < c.tiny), np.inf, out)
    return value, np.where(np.isnan(out), np.where(np.isfinite(value), np.inf, 0), out)


def monotone(name: str, function: Callable[[Array], Array], absolute: float = 0.0) -> Callable[[Any], BallTensor]:
    """A rule for an increasing function: both ends of the interval, `name`'s error, and `absolute` roundoffs."""

    def rule(x: Any) -> BallTensor:
        c = CURRENT.get()
        mid, rad = operand(c, x)
        value = function(mid)
        spread = None
        if rad is not None:
            spread = np.maximum(function(mid + rad) - value, value - function(mid - rad))
            spread = np.where(np.isnan(spread), np.where(rad == 0, 0, np.inf), spread)
        ulps = c.ulps[name]
        return rounded(c, value, spread, _floating(x), ((mid, rad),), ulps=ulps, floor=_least(c, ulps) + absolute * c.u)

    rule.__name__ = name
    rule.__doc__ = f"{name}(x)."
    return rule


def _erf(x: Array) -> Array:
    return torch.erf(torch.from_numpy(np.asarray(x, np.float64))).numpy().astype(x.dtype)


# a kernel without a library tanh computes 2 sigmoid(2x) - 1 or (1 - exp(-2x)) / (1 + exp(-2x)), as soft caps in use do:
# the error is absolute, a few roundoffs of 1
tanh = monotone("tanh", np.tanh, absolute=8.0)
erf = monotone("erf", _erf)
atan = monotone("atan", np.arctan)
tan = monotone("tan", np.tan)


def _periodic(name: str, function: Callable[[Array], Array]) -> Callable[[Any], BallTensor]:
    def rule(x: Any) -> BallTensor:
        c = CURRENT.get()
        mid, rad = operand(c, x)
        value = function(mid)
        spread = None if rad is None else np.minimum(rad, 2.0)
        return rounded(c, value, spread, _floating(x), ((mid, rad),), ulps=c.ulps[name], floor=c.eta + c.flush)

    rule.__name__ = name
    rule.__doc__ = f"{name}(x), whose slope is at most 1."
    return rule


sin = _periodic("sin", np.sin)
cos = _periodic("cos", np.cos)


# activations ----------------------------------------------------------------------------------------------------------


def logistic(c: Context, mid: Array, rad: Array | None) -> tuple[Array, Array]:
    """sigmoid(mid) and the relative error of 1 / (1 + exp(-x)) before the division."""
    value = 1 / (1 + np.exp(-mid))
    error = growth(extent(exponent_error(c, mid, rad), mid)) + c.ulps["exp"]
    relative = (1 - value) * error + c.u
    return value, np.where(np.isnan(relative), np.where(np.isfinite(mid), np.inf, c.u), relative)


def sigmoid(x: Any) -> BallTensor:
    """1 / (1 + exp(-x)): 0 where the exponential overflows, which the smallest normal covers."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    value, relative = logistic(c, mid, rad)
    return rounded(c, value, value * relative, _floating(x), ((mid, rad),), ulps=c.div, floor=2 * c.tiny)


def silu(x: Any, inplace: bool = False) -> BallTensor:
    """x sigmoid(x), as a product or as x / (1 + exp(-x))."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    gate, relative = logistic(c, mid, rad)
    value = mid * gate
    size = np.abs(value)
    spread = size * (relative + c.div) + np.abs(mid) * (2 * c.tiny)
    if rad is not None:
        spread = spread + rad * (gate * (1 + c.div))
    if not c.finite(spread):
        spread = np.where(np.isnan(spread), np.where(np.isfinite(mid), np.inf, 0), spread)
        value = np.where(np.isneginf(mid), np.nan, value)
    return rounded(c, value, spread, _floating(x), ((mid, rad),), floor=c.eta + c.flush)


def gelu(x: Any, approximate: str = "none") -> BallTensor:
    """x Phi(x): the negative tail cancels, so the error is relative to x and not to the result."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    size = np.abs(mid)
    if approximate == "tanh":
        slope = math.sqrt(2 / math.pi)
        inner = slope * (mid + 0.044715 * mid * mid * mid)
        bell = np.tanh(inner)
        # four roundings inside; tanh by exp: a few roundoffs of 1
        steep = (1 - bell * bell) * np.abs(inner) * (5 * c.u)
        error = steep + c.ulps["tanh"] * np.abs(bell) + 8 * c.u
    else:
        inner = mid * math.sqrt(0.5)
        bell = _erf(inner)
        steep = (2 / math.sqrt(math.pi)) * np.exp(-inner * inner) * np.abs(inner) * (2 * c.u)
        # polynomials for erf promise an absolute error of a few roundoffs of 1 (Abramowitz and Stegun 7.1.26)
        error = steep + c.ulps["erf"] * np.abs(bell) + 8 * c.u
        if c.real is not np.float64:
            error = error + 2.0**-51  # erf of midpoints is computed in float64
    value = 0.5 * mid * (1 + bell)
    spread = 0.5 * size * (error + c.u * (1 + bell)) + 2 * c.u * np.abs(value)
    if rad is not None:
        spread = spread + 1.13 * rad  # the slope of gelu is at most 1.129 (at x = sqrt 2)
    if not c.finite(2 * size + spread):
        # x (1 + bell) / 2, with the half at the end, overflows before the result does
        spread = np.where(np.isfinite(mid) & (2 * mid >= c.largest), np.inf, spread)
        spread = np.where(np.isnan(spread), np.where(np.isfinite(mid), np.inf, 0), spread)
    return rounded(c, value, spread, _floating(x), ((mid, rad),), floor=2 * c.eta + c.flush)


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> BallTensor:
    """log(1 + exp(beta x)) / beta; below 0, without log1p, the error is absolute: a roundoff of 1."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    scaled = mid * beta
    value = np.where(scaled > threshold, mid, np.logaddexp(0, scaled) / beta)
    gate = 1 / (1 + np.exp(-scaled))
    argument = extent(exponent_error(c, scaled, rad), mid)
    near = np.where(scaled < 0, LOG_NEAR_ONE, 0.0) if c.flush else 0.0
    # 1 + exp(x) is rounded to u relative to itself, which is u in the logarithm
    spread = gate * (growth(argument) + c.ulps["exp"]) + c.ulps["log"] * np.abs(value) + c.u + near
    spread = spread / abs(beta) + np.where(scaled > threshold, np.exp(-np.abs(threshold)), 0)
    spread = np.where(np.isnan(spread), np.where(np.isfinite(mid), np.inf, 0), spread)
    return rounded(c, value, spread, _floating(x), ((mid, rad),), floor=c.flush)


def logsigmoid(x: Any) -> BallTensor:
    """log(sigmoid(x)) = -softplus(-x)."""
    return arithmetic.neg(softplus(arithmetic.neg(x), 1, 1e9))


def leaky_relu(x: Any, negative_slope: float = 0.01, inplace: bool = False) -> BallTensor:
    """x above 0, slope x below."""
    return arithmetic.where(comparisons.ge(x, 0.0), x, arithmetic.mul(x, negative_slope))  # type: ignore[no-any-return]


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> BallTensor:
    """x limited to [min_val, max_val]."""
    return arithmetic.clamp(x, min_val, max_val)


def relu6(x: Any, inplace: bool = False) -> BallTensor:
    """x limited to [0, 6]."""
    return arithmetic.clamp(x, 0.0, 6.0)


def elu(x: Any, alpha: float = 1.0, inplace: bool = False) -> BallTensor:
    """x above 0, alpha (exp(x) - 1) below, where kernels do subtract."""
    below = arithmetic.mul(_exp_minus_one(arithmetic.minimum(x, 0.0), 0.0), alpha)
    return arithmetic.where(comparisons.gt(x, 0.0), x, below)  # type: ignore[no-any-return]
