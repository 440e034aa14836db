"""Rules of sums, means, variances, extrema and scans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from conformance.balls import arithmetic
from conformance.balls.arithmetic import whole
from conformance.balls.context import CURRENT, Array, Context, note, peak
from conformance.balls.rounding import extent, rounded
from conformance.balls.tensor import BallTensor, operand

Axes = int | tuple[int, ...] | None


def along(ufunc: Any, x: Any, axes: tuple[int, ...], keepdim: bool) -> Array:
    """`ufunc` reduced over `axes`, as an array."""
    return np.asarray(ufunc.reduce(x, axes, keepdims=keepdim))


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Normalised axes: all for None and for an empty list, as torch has it."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    if isinstance(dim, (tuple, list)):
        return tuple(d % ndim if ndim else 0 for d in dim)
    return (dim % ndim,) if ndim else ()


def count_of(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Number of elements that a reduction over `axes` folds into one."""
    return math.prod(shape[a] for a in axes)


def sum_of(
    c: Context,
    mid: Array,
    rad: Array | None,
    axes: tuple[int, ...],
    keepdim: bool,
    extra: int = 0,
    squares: bool = False,
) -> tuple[Array, Array | None, bool]:
    """Midpoint, radius and overflow of a sum in the promised order; the last addition is rounded exactly.

    The terms are their own magnitudes where they are `squares`.

    Every order adds n - 1 times. All roundings but the last are bounded by depth times unit times the sum of
    magnitudes, the last by half a unit in the last place of the result. Whole numbers below 2**precision are exact.
    """
    n = count_of(mid.shape, axes)
    out: Array = along(np.add, mid, axes, keepdim)
    if n <= 1 and not extra:
        return out, None if rad is None else along(np.add, rad, axes, keepdim), False
    magnitude: Array = out if squares else along(np.add, np.abs(mid), axes, keepdim)
    spread: Array | None = None
    if rad is not None:
        spread = along(np.add, rad, axes, keepdim)
        magnitude = magnitude + spread
    largest = peak(magnitude)
    finite = largest < c.largest
    if rad is None and finite and magnitude.size and largest * c.acc_u < 1 and whole(mid):
        return out, None, False
    depth = max(c.depth(n) - 1, 0) + extra
    relative = c.gamma(depth, c.acc_u) + n * c.eps
    before = magnitude * relative
    if spread is not None:
        before += spread
    after = c.power((out if squares else np.abs(out)) + before)
    after *= c.acc_u
    after += before
    if not finite:
        after = _special_sum(c, mid, rad, axes, keepdim, out, after)
    return out, after, not finite


def _special_sum(
    c: Context, mid: Array, rad: Array | None, axes: tuple[int, ...], keepdim: bool, out: Array, after: Array
) -> Array:
    """Radii where terms are special or partial sums may overflow: decided only if the finite terms cannot."""
    size = np.where(np.isfinite(mid), np.abs(mid), 0) + extent(rad, mid)
    fits = along(np.add, size, axes, keepdim) < c.largest
    # terms of one sign: partial sums never exceed the result, so its overflow is the only one
    one_sign = along(np.logical_and, mid >= 0, axes, keepdim) | along(np.logical_and, mid <= 0, axes, keepdim)
    after = np.where(np.isnan(after), np.inf, after)
    return np.where(fits & ~np.isfinite(out), 0, np.where(fits | one_sign, after, np.inf))


def _cast(x: Any, dtype: torch.dtype | None) -> torch.dtype:
    own: torch.dtype = x.dtype
    return dtype if dtype is not None else own if own.is_floating_point else torch.get_default_dtype()


def add_up(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> BallTensor:
    """The sum over `dim`."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    out, spread, over = sum_of(c, mid, rad, axes_of(dim, mid.ndim), keepdim)
    return BallTensor(c, out, spread, _cast(x, dtype), over)


def mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> BallTensor:
    """The sum divided by the number of terms, or multiplied by its reciprocal."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axes = axes_of(dim, mid.ndim)
    out, spread, over = sum_of(c, mid, rad, axes, keepdim)
    n = count_of(mid.shape, axes)
    return divided(c, out, spread, n, _cast(x, dtype), over)


def running_mean(x: Any, dim: Any = None, keepdim: bool = False) -> BallTensor:
    """The mean as a sum has it, or as Welford's method updates it along with the variance (Inductor's kernels do).

    An infinite element may give NaN, by the difference of two infinities.
    """
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axes = axes_of(dim, mid.ndim)
    out = _updated(c, mean(x, dim, True), mid, rad, axes)
    return out if keepdim else squeeze(out, axes)


def _updated(c: Context, mean: BallTensor, mid: Array, rad: Array | None, axes: tuple[int, ...]) -> BallTensor:
    """The mean of `mid` with room for Welford's updates, m + (x - m) / k.

    Update k rounds by u (|m| + 3 |x - m| / k), and the later ones weigh it by k / n. Since k |m| is at most the sum of
    magnitudes, all of them together stay below u (n + 6) times the mean magnitude; merges of parts likewise.
    """
    n = count_of(mid.shape, axes)
    if n < 2:
        return mean
    size = along(np.add, np.abs(mid) + extent(rad, mid), axes, True) / n
    own = extent(mean.rad, mean.mid) + size * c.gamma(c.depth(n) + 6, c.acc_u)
    vague = np.isnan(own) | along(np.logical_or, np.isinf(mid), axes, True)
    return BallTensor(c, mean.mid, np.where(vague, np.inf, own), mean.dtype, mean.overflows)


def divided(c: Context, mid: Array, rad: Array | None, n: float, dtype: torch.dtype, over: bool = False) -> BallTensor:
    """A sum over `n` terms divided by n: by a division, or by a product with the computed reciprocal."""
    if over:
        # the sum may be infinite in the compute dtype although the quotient is not
        mid, rad = BallTensor(c, mid, rad, dtype, over).operand()
    value = np.asarray(mid / n)
    if not n:
        return BallTensor(c, value, rad, dtype)
    spread = None if rad is None else rad / n
    mantissa, exponent = math.frexp(n)
    if mantissa == 0.5 and c.div < 2 * c.u:
        return rounded(c, value, spread, dtype, ((mid, rad),), ulps=0.0, floor=c.eta + c.flush)  # IEEE: exact
    # error of the reciprocal relative to itself: it lies in a binade of its own
    relative = c.div * math.ldexp(1.0, (1 if mantissa == 0.5 else 0) - exponent) * n
    own = np.abs(value) * relative
    spread = own if spread is None else spread + own
    return rounded(c, value, spread, dtype, ((mid, rad),), ulps=max(c.u, c.div - relative), floor=c.eta + c.flush)


def centred(c: Context, x: Any, axes: tuple[int, ...]) -> tuple[BallTensor, Array, Array, Array | None]:
    """Mean (kept dims), deviations from it, sum of squared deviations and its radius.

    In two passes, with the computed mean off by delta, the sum of squares moves by n delta**2 only: the first order
    cancels, since deviations sum to zero. Subtraction, square and summation are each one more rounding. Welford's
    updates add (x - m) (x - m') with both means off by up to half of depth u max|x| (Chan and Lewis, Computing standard
    deviations: accuracy, CACM 22, 1979), and the deviations from running means sum to at most sqrt(2 n square).
    """
    mid, rad = operand(c, x)
    n = count_of(mid.shape, axes)
    total, spread, over = sum_of(c, mid, rad, axes, True)
    mean = _updated(c, divided(c, total, spread, n, x.dtype, over), mid, rad, axes)
    deviation = mid - mean.mid
    square: Array = along(np.add, deviation * deviation, axes, True)
    delta = extent(mean.operand()[1], mean.mid)
    shift = n * delta * delta
    if rad is not None:
        own = along(np.add, np.abs(deviation) * (2 * rad) + (rad + delta) ** 2, axes, True)
        shift = np.maximum(shift, own)
    reach = square + shift
    order = 2 if c.promises.order == "any" else 1
    relative = c.gamma(order * c.depth(n) + 3, c.acc_u) + 4 * n * c.eps
    largest = along(np.maximum, np.abs(mid) + extent(rad, mid), axes, True) if mid.size else square
    running = 2 * (c.depth(n) + 1) * c.acc_u * largest * np.sqrt(n * reach)
    out = shift + reach * relative + running + n * c.eta
    if not c.finite(reach):
        out = np.where(reach < c.largest, out, np.where(np.isfinite(square), np.inf, 0))
        out = np.where(np.isfinite(extent(rad, mid)).all(axis=axes, keepdims=True), out, np.inf)
    # where moments of parts are merged, the first part is empty and has mean 0: the difference of means is squared
    # before it counts for nothing (Chan, Golub and LeVeque, the parallel form of Welford's algorithm)
    if mid.size:
        largest = along(np.maximum, np.abs(mid), axes, True)
        merged = np.isfinite(largest) & (largest * largest >= c.largest)
        if merged.any():
            out = np.where(merged, np.inf, out)
    return mean, deviation, square, out


def var(
    x: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> BallTensor:
    """The variance in two passes (or Welford's); E[x**2] - E[x]**2 is outside."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    c = CURRENT.get()
    axes = axes_of(dim, x.ndim)
    n = count_of(x.shape, axes)
    lost = correction if correction is not None else 0 if unbiased is False else 1
    _, _, square, rad = centred(c, x, axes)
    out = divided(c, square, rad, max(n - lost, 0), x.dtype)
    return out if keepdim else squeeze(out, axes)


def std(x: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, **options: Any) -> BallTensor:
    """The root of the variance."""
    return CURRENT.get().rules["sqrt"](var(x, dim, unbiased, keepdim, **options))  # type: ignore[no-any-return]


def var_mean(x: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, **options: Any) -> Any:
    """Variance and mean."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return var(x, dim, unbiased, keepdim, **options), running_mean(x, dim, keepdim)


def std_mean(x: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, **options: Any) -> Any:
    """Standard deviation and mean."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return std(x, dim, unbiased, keepdim, **options), running_mean(x, dim, keepdim)


def squeeze(x: BallTensor, axes: tuple[int, ...]) -> BallTensor:
    """`x` without the axes `axes` of size 1."""
    return x.moved(lambda a: np.squeeze(a, axes))


# extrema --------------------------------------------------------------------------------------------------------------


def _extremum(x: Any, axes: tuple[int, ...], keepdim: bool, reduce: Callable[..., Array]) -> BallTensor:
    c = CURRENT.get()
    mid, rad = operand(c, x)
    out = reduce(mid, axes, keepdims=keepdim)
    spread = None if rad is None else along(np.maximum, rad, axes, keepdim)
    if c.promises.nan == "ignore" and np.isnan(out).any():
        spread = np.where(np.isnan(out), np.inf, extent(spread, out))
    return BallTensor(c, np.asarray(out), spread, x.dtype)


def amax(x: Any, dim: Any = (), keepdim: bool = False) -> BallTensor:
    """The largest element over `dim`, exact."""
    return _extremum(x, axes_of(dim, x.ndim), keepdim, np.maximum.reduce)


def amin(x: Any, dim: Any = (), keepdim: bool = False) -> BallTensor:
    """The smallest element over `dim`, exact."""
    return _extremum(x, axes_of(dim, x.ndim), keepdim, np.minimum.reduce)


def _index(x: Any, dim: int | None, keepdim: bool, name: str) -> Any:
    c = CURRENT.get()
    mid, rad = operand(c, x)
    choose = torch.argmax if name == "argmax" else torch.argmin
    values = torch.from_numpy(np.asarray(mid, np.float64))
    out = choose(values) if dim is None else choose(values, dim=dim, keepdim=keepdim)
    if rad is not None and rad.any():
        note(name)
    return out


def argmax(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The index of the largest element; noted where rounding could decide otherwise."""
    return _index(x, dim, keepdim, "argmax")


def argmin(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The index of the smallest element."""
    return _index(x, dim, keepdim, "argmin")


def _max_or_min(name: str) -> Callable[..., Any]:
    pick = (amax, argmax, arithmetic.maximum) if name == "max" else (amin, argmin, arithmetic.minimum)
    result: Any = torch.return_types.max if name == "max" else torch.return_types.min

    def rule(x: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        if other is not None:
            return pick[2](x, other)
        if dim is None:
            return pick[0](x)
        if type(dim) is BallTensor or isinstance(dim, torch.Tensor):
            return pick[2](x, dim)
        return result((pick[0](x, dim, keepdim), pick[1](x, dim, keepdim)))

    rule.__name__ = name
    rule.__doc__ = f"torch's `{name}`: of all elements, over a dimension with indices, or of two tensors."
    return rule


largest = _max_or_min("max")
smallest = _max_or_min("min")


# scans and products ---------------------------------------------------------------------------------------------------


def cumsum(x: Any, dim: int, *, dtype: torch.dtype | None = None) -> BallTensor:
    """Running sums: position i has i roundings, in whatever order the scan combines."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    if not mid.ndim:
        return x  # type: ignore[no-any-return]
    out = np.cumsum(mid, axis=dim)
    magnitude = np.cumsum(np.abs(mid), axis=dim)
    spread = None
    if rad is not None:
        spread = np.cumsum(rad, axis=dim)
        magnitude = magnitude + spread
    if rad is None and c.finite(magnitude) and magnitude.size and magnitude.max() * c.acc_u < 1 and whole(mid):
        return BallTensor(c, out, None, _cast(x, dtype))
    n = mid.shape[dim]
    shape = [1] * mid.ndim
    shape[dim] = n
    steps = np.maximum(np.arange(n) - 1, 0).astype(c.real).reshape(shape)
    before = magnitude * (steps * (c.acc_u * (1 + n * c.acc_u)) + steps * c.eps)
    if spread is not None:
        before = before + spread
    after = before + c.power(np.abs(out) + before) * c.acc_u
    first = (np.arange(n) == 0).reshape(shape)
    after = np.where(first, 0 if rad is None else rad, after)
    over = not c.finite(magnitude)
    if over:
        fits = np.cumsum(np.where(np.isfinite(mid), np.abs(mid), 0) + extent(rad, mid), axis=dim) < c.largest
        after = np.where(fits & ~np.isfinite(out), 0, np.where(fits, after, np.inf))
    return BallTensor(c, out, after, _cast(x, dtype), over)


def prod(x: Any, dim: int | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> BallTensor:
    """The product over `dim`: n - 1 roundings."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axes = axes_of(dim, mid.ndim)
    n = count_of(mid.shape, axes)
    out: Array = along(np.multiply, mid, axes, keepdim)
    high: Array = along(np.multiply, np.abs(mid) + extent(rad, mid), axes, keepdim)
    partial = np.abs(mid) + extent(rad, mid)
    # a partial product may over- or underflow although the result does not
    bounded = (along(np.multiply, np.maximum(partial, 1), axes, keepdim) < c.largest) & (
        along(np.multiply, np.minimum(np.where(partial == 0, 1, partial), 1), axes, keepdim) > c.tiny
    )
    spread = (high - np.abs(out)) + high * c.gamma(n, c.u)
    spread = np.where(bounded, spread, np.where(np.isfinite(out), np.inf, 0))
    return BallTensor(c, np.asarray(out), spread, _cast(x, dtype))


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> BallTensor:
    """The 1-, 2- or inf-norm over `dim`."""
    c = CURRENT.get()
    if ord in (None, 2, 2.0, "fro"):
        return c.rules["sqrt"](add_up(arithmetic.square(x), dim, keepdim))  # type: ignore[no-any-return]
    if ord == 1:
        return add_up(arithmetic.absolute(x), dim, keepdim)
    if ord == math.inf:
        return amax(arithmetic.absolute(x), () if dim is None else dim, keepdim)
    powered = add_up(arithmetic.power(arithmetic.absolute(x), float(ord)), dim, keepdim)
    return arithmetic.power(powered, 1.0 / float(ord))


def norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> BallTensor:
    """The p-norm over `dim`."""
    return vector_norm(x, 2 if p in ("fro", None) else p, dim, keepdim)
