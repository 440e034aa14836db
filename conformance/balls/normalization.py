"""Rules of softmax, logsumexp, cross entropy and the norms: composites whose errors partly cancel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from conformance.accuracy import LOG_NEAR_ONE
from conformance.balls import arithmetic, reductions
from conformance.balls.context import CURRENT, Array, Context
from conformance.balls.elementary import LN2, LOG2E, LOG2E_ERROR, growth, reciprocal_root
from conformance.balls.formats import FORMATS
from conformance.balls.reductions import axes_of, centred, count_of, divided, squeeze, sum_of
from conformance.balls.rounding import extent, rounded
from conformance.balls.tensor import BallTensor, operand


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
        argument = np.abs(single - difference)
        if c.exp_through_exp2:
            product = (single * np.float32(LOG2E)).astype(np.float64)
            product *= LN2
            product -= difference
            argument = np.maximum(argument, np.abs(product))
        if rad is not None:
            # the difference itself may be off by rad, and its rounding by one more unit in the last place of it
            argument = argument + rad + c.power(np.abs(difference) + rad) * (4 * c.u)
    else:
        size = np.abs(difference) + extent(rad, mid)
        argument = extent(rad, mid) + c.power(size) * c.u
        if c.exp_through_exp2:
            argument = argument + c.power(size * LOG2E) * (c.u * LN2) + size * LOG2E_ERROR
    value = np.exp(difference)
    spread = value * growth(argument)
    if not spread.size or not np.isfinite(spread.max()):
        spread = np.where(np.isneginf(difference) & (extent(rad, mid) == 0), 0, spread)
    out = c.power(value + spread)
    out *= c.ulps["exp"]
    out += spread
    out += 2 * c.eta + c.flush
    if rad is None:
        out[(difference == 0) | (difference == -np.inf)] = 0
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
        spread = spread + value * (rescales * (c.ulps["exp"] + 2 * c.u + LOG2E_ERROR))
    total: Array = np.add.reduce(value, axis, keepdims=True)
    errors: Array = np.add.reduce(spread, axis, keepdims=True)
    magnitude = total + errors
    depth = max(c.depth(n) - 1, 0)
    summing = magnitude * (c.gamma(depth, c.acc_u) + n * float(np.finfo(c.real).eps))
    if n > 1:
        summing += c.power(magnitude) * c.acc_u
    quotient = value / total
    low = total - errors - summing
    out = np.abs(spread * (1 - 2 * quotient)) + quotient * (errors + summing)
    out /= np.where(low > 0, low, np.nan)
    if not out.size or not np.isfinite(out.max()):
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
    running = np.maximum.accumulate(mid, axis=axis)
    return int((np.diff(running, axis=axis) > 0).sum(axis=axis).max(initial=0))


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
    spread = spread + quotient * c.div
    return rounded(c, quotient, spread, _result(x, dtype), ((mid, rad),), floor=c.eta + c.flush)


def softmin(x: Any, dim: Any = None, dtype: Any = None, _stacklevel: int = 3) -> BallTensor:
    """softmax of -x."""
    return softmax(arithmetic.neg(x), dim, dtype)


def log_sum(c: Context, mid: Array, rad: Array | None, axis: int) -> tuple[Array, Array, Array, Array]:
    """Maximum, log(sum exp(x - max)), and the radius and size of that logarithm (kept dims)."""
    top, _, value, spread = shifted_exponentials(c, mid, rad, axis)
    n = mid.shape[axis]
    if c.promises.order == "any":
        spread = spread + value * (records(mid, axis) * (c.ulps["exp"] + 2 * c.u + LOG2E_ERROR))
    total: Array = np.add.reduce(value, axis, keepdims=True)
    errors: Array = np.add.reduce(spread, axis, keepdims=True)
    magnitude = total + errors
    summing = magnitude * (c.gamma(max(c.depth(n) - 1, 0), c.acc_u) + n * float(np.finfo(c.real).eps))
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
    value, spread = _log_probabilities(c, mid, rad, axis)
    return rounded(c, value, spread, _result(x, dtype), ((mid, rad),))


def _log_probabilities(c: Context, mid: Array, rad: Array | None, axis: int) -> tuple[Array, Array]:
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


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> BallTensor:
    """logsumexp(x) - x[target], weighted, summed and divided as torch does."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axis = 1 if mid.ndim > 1 else 0
    value, spread = _log_probabilities(c, mid, rad, axis)
    logs = rounded(c, value, spread, x.dtype, ((mid, rad),))
    if target.dtype.is_floating_point:
        goal = arithmetic.mul(target, arithmetic.neg(logs))
        if label_smoothing:
            smooth = arithmetic.add(arithmetic.mul(target, 1 - label_smoothing), label_smoothing / mid.shape[axis])
            goal = arithmetic.mul(smooth, arithmetic.neg(logs))
        if weight is not None:
            goal = arithmetic.mul(goal, _along(weight, axis, mid.ndim))
        loss = reductions.add_up(goal, axis)
        rows = max(loss.numel(), 1) if mid.ndim > 1 else 1
        return _reduced(loss, reduction, float(rows))
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if label_smoothing:
        keep = torch.as_tensor(target != ignore_index)
        smoothing = arithmetic.neg(logs)
        if weight is not None:
            smoothing = arithmetic.mul(smoothing, _along(weight, axis, mid.ndim))
        each = arithmetic.where(keep, reductions.add_up(smoothing, axis), 0.0)
        share = label_smoothing / mid.shape[axis]
        if reduction == "mean":
            count: Any = float(keep.sum())
            if weight is not None:
                count = reductions.add_up(_weights(c, weight, target, ignore_index))
            each = arithmetic.div(reductions.add_up(each), count)
        elif reduction == "sum":
            each = reductions.add_up(each)
        loss = arithmetic.add(arithmetic.mul(loss, 1 - label_smoothing), arithmetic.mul(each, share))
    loss.dtype = x.dtype
    return loss


def _along(weight: Any, axis: int, ndim: int) -> Any:
    shape = [1] * ndim
    shape[axis] = -1
    return weight.reshape(shape)


def _weights(c: Context, weight: Any, target: Any, ignore_index: int) -> BallTensor:
    index = target.numpy()
    keep = index != ignore_index
    mid, rad = operand(c, weight)
    safe = np.where(keep, index, 0)
    return BallTensor(
        c, np.where(keep, mid[safe], 0), None if rad is None else np.where(keep, rad[safe], 0), weight.dtype
    )


def nll_loss(
    logs: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> BallTensor:
    """-logs[target], weighted; the mean divides by the number (or weight) of targets that count."""
    c = CURRENT.get()
    mid, rad = operand(c, logs)
    index = target.numpy()
    keep = index != ignore_index
    axis = 1 if mid.ndim > 1 else 0
    safe = np.expand_dims(np.where(keep, index, 0), axis) if mid.ndim else index
    picked = np.squeeze(np.take_along_axis(mid, safe, axis), axis)
    picked_rad = None if rad is None else np.where(keep, np.squeeze(np.take_along_axis(rad, safe, axis), axis), 0)
    loss = BallTensor(c, np.where(keep, -picked, 0), picked_rad, logs.dtype)
    count: Any = float(keep.sum())
    if weight is not None:
        factors = _weights(c, weight, target, ignore_index)
        loss = arithmetic.mul(loss, factors)
        if reduction == "mean":
            return arithmetic.div(reductions.add_up(loss), reductions.add_up(factors))
    return _reduced(loss, reduction, count)


def _reduced(loss: BallTensor, reduction: str, count: float) -> BallTensor:
    """Sum, or mean over `count`: 0 / 0 is NaN, as in torch."""
    if reduction == "none":
        return loss
    out = reductions.add_up(loss)
    if reduction == "sum":
        return out
    if reduction != "mean":
        raise ValueError(f"reduction is {reduction!r}; it is 'none', 'mean' or 'sum'")
    c = out.c
    if not count:
        return BallTensor(c, np.asarray(np.nan, c.real), None, loss.dtype)
    mid, rad = out.operand()
    return divided(c, mid, rad, count, loss.dtype, out.overflows)


# norms ----------------------------------------------------------------------------------------------------------------


def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> BallTensor:
    """x / sqrt(mean(x**2) + eps) * weight; with casting="llama" rounded before the weight."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axes = tuple(range(mid.ndim - len(normalized_shape), mid.ndim))
    n = count_of(mid.shape, axes)
    square = arithmetic.mul(x, x)
    s, rs = square.operand()
    total, spread, over = sum_of(c, s, rs, axes, True)
    mean = divided(c, total, spread, n, x.dtype, over)
    shifted = arithmetic.add(mean, float(torch.finfo(x.dtype).eps) if eps is None else eps)
    root, root_spread = _rounded_root(c, *shifted.operand())
    return _scaled(c, mid, rad, root, root_spread, x.dtype, weight)


def _rounded_root(c: Context, mid: Array, rad: Array | None) -> tuple[Array, Array]:
    value, spread = reciprocal_root(c, mid, rad)
    spread = spread + c.ulps["rsqrt"] * c.power(value + spread) + c.flush
    if not c.finite(spread):
        spread = np.where(np.isnan(spread), np.inf, spread)
        spread = np.where(~np.isfinite(value) & np.isfinite(extent(rad, mid)), 0, spread)
    return value, spread


def _scaled(
    c: Context, mid: Array, rad: Array | None, root: Array, spread: Array, dtype: torch.dtype, weight: Any
) -> BallTensor:
    """mid * root * weight, in either order, with the rounding that casting="llama" prescribes between."""
    value = mid * root
    size = np.abs(mid) if rad is None else np.abs(mid) + rad
    own = size * spread
    if rad is not None:
        own = own + rad * root
    decided: tuple[tuple[Array, Array | None], ...] = ((mid, rad), (root, spread))
    if weight is None:
        return rounded(c, value, _resolved(value, own, decided), dtype, decided, floor=c.eta)
    w, rw = operand(c, weight)
    own = own + c.power(np.abs(value) + own) * c.u + c.eta
    if c.promises.casting == "llama" and dtype in FORMATS:
        form = FORMATS[dtype]
        if form.unit > c.unit:
            own = own + c.power(np.abs(value) + own) * form.unit + form.half_spacing
    size_w = np.abs(w)
    out = value * w
    all_spread = own * (size_w if rw is None else size_w + rw)
    if rw is not None:
        all_spread = all_spread + np.abs(value) * rw
    # (x * weight) * root instead: the product by the weight underflows first
    all_spread = all_spread + c.eta * np.where(np.isfinite(root), root, 0)
    # what may be 0 times an infinite weight: NaN, or an infinity of either sign
    vague = np.isinf(w) & (np.abs(value) <= own)
    decided = (*decided, (w, np.where(vague, np.inf, extent(rw, w)) if vague.any() else rw))
    return rounded(c, out, _resolved(out, all_spread, decided), dtype, decided, floor=c.eta)


def _resolved(mid: Array, spread: Array, operands: Any) -> Array:
    """`spread` with NaN (infinity times 0) resolved: 0 for a special result of decided operands, else inf."""
    if not spread.size or spread.max() < math.inf:
        return spread
    decided = ~np.isfinite(mid)
    for _, rad in operands:
        if rad is not None:
            decided = decided & np.isfinite(rad)
    return np.where(decided, 0, np.where(np.isnan(spread), np.inf, spread))


def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> BallTensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias, the variance in two passes or Welford's."""
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return _normalised(x, axes, weight, bias, eps)


def _normalised(x: Any, axes: tuple[int, ...], weight: Any, bias: Any, eps: float) -> BallTensor:
    c = CURRENT.get()
    mid, rad = operand(c, x)
    n = count_of(mid.shape, axes)
    mean, deviation, square, spread = centred(c, x, axes)
    variance = divided(c, square, spread, n, x.dtype)
    shifted = arithmetic.add(variance, eps)
    root, root_spread = _rounded_root(c, *shifted.operand())
    delta = extent(mean.operand()[1], mean.mid)
    own = delta if rad is None else rad + delta
    own = own + c.power(np.abs(deviation) + own) * c.u
    # x * root - mean * root instead, as torch has it on the CPU: both products and their difference are rounded
    own = own + (np.abs(mid) + 2 * np.abs(mean.mid)) * c.u
    out = _scaled(c, deviation, own, root, root_spread, x.dtype, weight)
    return out if bias is None else arithmetic.add(out, bias)


def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> BallTensor:
    """layer_norm over groups of channels."""
    shape = x.shape
    grouped = x.reshape(shape[0], num_groups, math.prod(shape[1:]) // num_groups)
    out = _normalised(grouped, (2,), None, None, eps).reshape(shape)
    if weight is not None:
        out = arithmetic.mul(out, _along(weight, 1, len(shape)))
    return out if bias is None else arithmetic.add(out, _along(bias, 1, len(shape)))


def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> BallTensor:
    """x / max(norm(x), eps)."""
    size = reductions.vector_norm(x, p, dim, True)
    return arithmetic.div(x, arithmetic.clamp(size, min=eps))
