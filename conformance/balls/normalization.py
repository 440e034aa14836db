"""Rules of the norms: rms_norm, layer_norm, group_norm and normalize."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from conformance.balls import arithmetic, reductions
from conformance.balls.context import CURRENT, Array, Context, peak
from conformance.balls.elementary import reciprocal_root
from conformance.balls.formats import FORMATS
from conformance.balls.reductions import centred, count_of, divided, sum_of
from conformance.balls.rounding import extent, rounded
from conformance.balls.tensor import BallTensor, channelwise, operand


def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> BallTensor:
    """x / sqrt(mean(x**2) + eps) * weight; with casting="llama" rounded before the weight."""
    c = CURRENT.get()
    mid, rad = operand(c, x)
    axes = tuple(range(mid.ndim - len(normalized_shape), mid.ndim))
    n = count_of(mid.shape, axes)
    square = arithmetic.mul(x, x)
    s, rs = square.operand()
    total, spread, over = sum_of(c, s, rs, axes, True, squares=True)
    mean = divided(c, total, spread, n, x.dtype, over)
    shifted = arithmetic.add(mean, float(torch.finfo(x.dtype).eps) if eps is None else eps)
    root, root_spread = _rounded_root(c, *shifted.operand())
    return _scaled(c, mid, rad, root, root_spread, x.dtype, weight)


def _rounded_root(c: Context, mid: Array, rad: Array | None) -> tuple[Array, Array]:
    value, before = reciprocal_root(c, mid, rad)
    spread = c.power(value + before)
    spread *= c.ulps["rsqrt"]
    spread += before
    spread += c.flush
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
    size = np.abs(value)
    own += c.power(size + own) * c.u
    own += c.eta
    if c.promises.casting == "llama" and dtype in FORMATS:
        form = FORMATS[dtype]
        if form.unit > c.unit:
            own = own + c.power(size + own) * form.unit + form.half_spacing
    size_w = np.abs(w)
    out = value * w
    all_spread = own * (size_w if rw is None else size_w + rw)
    if rw is not None:
        all_spread += size * rw
    # (x * weight) * root instead: the product by the weight underflows first
    all_spread += c.eta * (root if peak(root) < math.inf else np.where(np.isfinite(root), root, 0))
    if not peak(size_w) < math.inf:
        # what may be 0 times an infinite weight: NaN, or an infinity of either sign
        vague = np.isinf(w) & (size <= own)
        rw = np.where(vague, np.inf, extent(rw, w)) if np.logical_or.reduce(vague, axis=None) else rw
    decided = (*decided, (w, rw))
    return rounded(c, out, _resolved(out, all_spread, decided), dtype, decided, floor=c.eta)


def _resolved(mid: Array, spread: Array, operands: Any) -> Array:
    """`spread` with NaN (infinity times 0) resolved: 0 for a special result of decided operands, else inf."""
    if peak(spread) < math.inf:
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
    """layer_norm over groups of channels, as such or, as torch has it, as scale x + shift with both of a channel."""
    shape = x.shape
    grouped = x.reshape(shape[0], num_groups, math.prod(shape[1:]) // num_groups)
    out: BallTensor = _normalised(grouped, (2,), None, None, eps).reshape(shape)
    if weight is not None:
        out = arithmetic.mul(out, channelwise(weight, 1, len(shape)))
    if bias is None:
        return out
    c = CURRENT.get()
    b, rb = operand(c, channelwise(bias, 1, len(shape)))
    # the shift, bias - mean * root * weight, is rounded
    shift = np.abs(b) * c.u
    folded = BallTensor(c, b, shift if rb is None else rb + shift, bias.dtype)
    return arithmetic.add(out, folded)


def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> BallTensor:
    """x / max(norm(x), eps)."""
    size = reductions.vector_norm(x, p, dim, True)
    return arithmetic.div(x, arithmetic.clamp(size, min=eps))
