"""Rules of the losses of classifiers: cross entropy and the negative log likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from conformance.balls import arithmetic, reductions
from conformance.balls.context import CURRENT, Context
from conformance.balls.reductions import divided
from conformance.balls.rounding import rounded
from conformance.balls.softmax import log_probabilities
from conformance.balls.tensor import BallTensor, channelwise, operand


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
    value, spread = log_probabilities(c, mid, rad, axis)
    logs = rounded(c, value, spread, x.dtype, ((mid, rad),))
    if target.dtype.is_floating_point:
        goal = arithmetic.mul(target, arithmetic.neg(logs))
        if label_smoothing:
            smooth = arithmetic.add(arithmetic.mul(target, 1 - label_smoothing), label_smoothing / mid.shape[axis])
            goal = arithmetic.mul(smooth, arithmetic.neg(logs))
        if weight is not None:
            goal = arithmetic.mul(goal, channelwise(weight, axis, mid.ndim))
        loss = reductions.add_up(goal, axis)
        rows = max(loss.numel(), 1) if mid.ndim > 1 else 1
        return _reduced(loss, reduction, float(rows))
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if label_smoothing:
        keep = torch.as_tensor(target != ignore_index)
        smoothing = arithmetic.neg(logs)
        if weight is not None:
            smoothing = arithmetic.mul(smoothing, channelwise(weight, axis, mid.ndim))
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
