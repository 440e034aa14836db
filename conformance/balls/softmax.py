"""Rules of softmax and logsumexp: composites whose errors partly cancel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from conformance.accuracy import LOG_NEAR_ONE
from conformance.balls import arithmetic
from conformance.balls.context import CURRENT, LOG2E, Array, Context, peak, trough
from conformance.balls.elementary import LN2, growth
from conformance.balls.reductions import along, axes_of, squeeze
from conformance.balls.rounding import extent, rounded
from conformance.balls.tensor import BallTensor, operand

_LOG2E = np.float32(LOG2E)


def shifted_exponentials(c: Context, mid: Array, rad: Array | None, axis: int) -> tuple[Array, Array, Array, Array]:
    """exp(x - max x): the maximum, the exact differences, the exponentials and their radii.

    For exact x the float32 difference is known, and with it the error of the argument, both of `exp` itself and of
    the product by log2(e) before `ex2`: the larger of the two counts. exp(0) is exactly 1 everywhere. An error common
    to the whole row (that of the maximum) cancels in a quotient, so it is left out.
    """
    top: Array = np.maximum.reduce(mid, axis, keepdims=True)
    difference = mid - top
    if c.native is np.float32:
        single = difference.astype(np.float32)
        argument = single.astype(np.float64)
        argument -= difference
        np.abs(argument, out=argument)
        if c.exp_through_exp2:
            single *= _LOG2E
            product = single.astype(np.float64)
            product *= LN2
            product -= difference
            np.abs(product, out=product)
            np.maximum(argument, product, out=argument)
        if rad is not None:
            # the difference itself may be off by rad, and its rounding by one more unit in the last place of it
            argument = argument + rad + c.power(np.abs(difference) + rad) * (4 * c.u)
    else:
        size = np.abs(difference) + extent(rad, mid)
        argument = extent(rad, mid) + c.power(size) * c.u
        if c.exp_through_exp2:
            argument = argument + c.power(size * LOG2E) * (c.u * LN2) + size * c.log2e_error
    value = np.exp(difference)
    spread = value * growth(argument)
    certain = difference == 0
    if not peak(argument) <= 1:  # so it is where the difference is infinite
        vanishing = np.isneginf(difference)
        spread = np.where(vanishing & (extent(rad, mid) == 0), 0, spread)
        certain |= vanishing
    out = c.power(value + spread)
    out *= c.ulps["exp"]
    out += spread
    out += 2 * c.eta + c.flush
    if rad is None:
        np.putmask(out, certain, 0)
    return top, difference, value, out


def softmax_of(c: Context, mid: Array, rad: Array | None, axis: int, rescales: int = 0) -> tuple[Array, Array]:
    """Quotients exp(x_i - max) / sum exp(x_j - max) and their radii, before the rounding of the division.

    With e_i off by d_i and the sum by s besides, y_i is off by exactly
    [d_i (1 - y_i) - y_i (sum of the other d_j + s)] / computed sum.
    """
    top, _, value, spread = shifted_exponentials(c, mid, rad, axis)
    n = mid.shape[axis]
    if c.promises.order == "any" and not rescales:
        rescales = int(records(mid, axis))
    if rescales:
        spread += value * (rescales * (c.ulps["exp"] + 2 * c.u + c.log2e_error))
    total: Array = np.add.reduce(value, axis, keepdims=True)
    errors: Array = np.add.reduce(spread, axis, keepdims=True)
    magnitude = total + errors
    depth = max(c.depth(n) - 1, 0)
    summing = magnitude * (c.gamma(depth, c.acc_u) + n * c.eps)
    if n > 1:
        summing += c.power(magnitude) * c.acc_u
    quotient = value / total
    low = total - errors - summing
    out = 1 - 2 * quotient
    out *= spread
    np.abs(out, out=out)
    out += quotient * (errors + summing)
    out /= low if trough(low) > 0 else np.where(low > 0, low, np.nan)
    if not peak(out) < math.inf:
        dead = np.isneginf(top)
        out = np.where(np.isnan(quotient), 0, np.where(np.isnan(out), np.inf, out))
        if rad is not None:
            known = np.isfinite(rad).all(axis=axis, keepdims=True)
            out = np.where(known, out, np.inf)
        if c.promises.all_masked == "zero":
            quotient = np.where(dead, 0, quotient)
            out = np.where(dead, 0, out)
    return quotient, out


def records(mid: Array, axis: int) -> int:
    """How often a running maximum along `axis` rises after its first element, at most over all rows."""
    if mid.shape[axis] < 2 or not mid.size:
        return 0
    running = np.maximum.accumulate(mid, axis=axis).swapaxes(axis, -1)
    rises = np.add.reduce(running[..., 1:] > running[..., :-1], axis=-1)
    return int(peak(rises))


def _result(x: Any, dtype: torch.dtype | None) -> torch.dtype:
    own: torch.dtype = x.dtype
    return dtype if dtype is not None else own


def softmax(x: Any, dim: Any = None, dtype: Any = None, _stacklevel: int = 3, **_: Any) -> BallTensor:
    """exp(x - max) / sum: divided, or multiplied by the reciprocal of the sum."""
    if isinstance(dtype, int):  # F.softmax(x, dim, _stacklevel) as positional arguments
        dtype = None
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axis = -1 if dim is None else dim
    if not mid.size or not mid.ndim:
        return BallTensor(c, np.ones_like(mid), None, _result(x, dtype))
    quotient, spread = softmax_of(c, mid, rad, axis)
    # a product by the reciprocal: the division's error relative to y, and one rounding
    spread += quotient * c.div
    return rounded(c, quotient, spread, _result(x, dtype), ((mid, rad),), floor=c.eta + c.flush)


def softmin(x: Any, dim: Any = None, dtype: Any = None, _stacklevel: int = 3) -> BallTensor:
    """softmax of -x."""
    return softmax(arithmetic.neg(x), dim, dtype)


def log_sum(c: Context, mid: Array, rad: Array | None, axis: int) -> tuple[Array, Array, Array, Array]:
    """Maximum, log(sum exp(x - max)), and the radius and size of that logarithm (kept dims)."""
    top, _, value, spread = shifted_exponentials(c, mid, rad, axis)
    n = mid.shape[axis]
    if c.promises.order == "any":
        spread = spread + value * (records(mid, axis) * (c.ulps["exp"] + 2 * c.u + c.log2e_error))
    total: Array = np.add.reduce(value, axis, keepdims=True)
    errors: Array = np.add.reduce(spread, axis, keepdims=True)
    magnitude = total + errors
    summing = magnitude * (c.gamma(max(c.depth(n) - 1, 0), c.acc_u) + n * c.eps)
    if n > 1:
        summing = summing + c.power(magnitude) * c.acc_u
    off = errors + summing
    logarithm = np.log(total)
    out = off / np.where(total - off > 0, total - off, np.nan)
    if c.flush:
        out = out + np.where(total < 2, LOG_NEAR_ONE, 0.0)
    out = out + c.ulps["log"] * c.power(np.abs(logarithm) + out)
    return top, logarithm, out, np.abs(logarithm) + out


def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> BallTensor:
    """max + log(sum exp(x - max)): absolute near 0."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axes = axes_of(dim, mid.ndim)
    if len(axes) != 1:
        moved = np.moveaxis(mid, axes, range(-len(axes), 0))
        kept = moved.shape[: mid.ndim - len(axes)]
        flat_rad = None if rad is None else np.moveaxis(rad, axes, range(-len(axes), 0)).reshape(*kept, -1)
        out = logsumexp(BallTensor(c, moved.reshape(*kept, -1), flat_rad, x.dtype), -1)
        return out.moved(lambda a: np.expand_dims(a, axes)) if keepdim else out
    if not mid.size:
        nothing = np.full(along(np.add, mid, axes, keepdim).shape, -np.inf, c.real)
        return BallTensor(c, nothing, None, x.dtype)
    top, logarithm, spread, _ = log_sum(c, mid, rad, axes[0])
    value = top + logarithm
    infinite = np.isinf(top)
    if infinite.any():
        # torch adds the maximum only where it is finite
        value = np.where(infinite, top, value)
        spread = np.where(infinite, 0, spread)
    spread = np.where(np.isnan(value), 0, spread)
    result = rounded(c, value, spread, x.dtype, ((value, None),))
    return result if keepdim else squeeze(result, axes)


def log_softmax(x: Any, dim: Any = None, dtype: Any = None, _stacklevel: int = 3, **_: Any) -> BallTensor:
    """x - max - log(sum), or x minus the logsumexp."""
    if isinstance(dtype, int):
        dtype = None
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axis = -1 if dim is None else dim
    if not mid.size or not mid.ndim:
        return BallTensor(c, np.zeros_like(mid), None, _result(x, dtype))
    value, spread = log_probabilities(c, mid, rad, axis)
    return rounded(c, value, spread, _result(x, dtype), ((mid, rad),))


def log_probabilities(c: Context, mid: Array, rad: Array | None, axis: int) -> tuple[Array, Array]:
    """x - max - log(sum) and its radius, before the last rounding."""
    top, logarithm, spread, size = log_sum(c, mid, rad, axis)
    difference = mid - top
    value = difference - logarithm
    # either grouping: the difference from the maximum is rounded, or the logsumexp is
    grouping = np.maximum(c.power(np.abs(difference) + extent(rad, mid)), c.power(np.abs(top) + size))
    out = spread + grouping * c.u
    if rad is not None:
        out = out + rad
    out = np.where(np.isnan(value) | np.isneginf(difference), 0, out)
    return value, np.where(np.isnan(out), np.inf, out)
