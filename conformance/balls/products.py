"""Rules of matrix products: matmul and its relatives, linear layers, einsum and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from conformance.accuracy import FP8_TENSOR_CORE_UNIT, TENSOR_CORE_UNIT
from conformance.balls import arithmetic
from conformance.balls.arithmetic import whole
from conformance.balls.context import CURRENT, Array, Context, note, peak
from conformance.balls.formats import FORMATS, TF32_QUANTUM, TF32X3_BELOW
from conformance.balls.rounding import extent
from conformance.balls.softmax import softmax_of
from conformance.balls.tensor import BallTensor, operand, result_dtype

HALVES = (torch.float16, torch.bfloat16)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def _units(c: Context, *tensors: Any) -> tuple[float, float]:
    """Unit roundoff of an accumulation, and relative error of one product of operands.

    Half operands run on tensor cores, which truncate sums; float32 operands are kept, cut to TF32 or split in three,
    as the kernel promises.
    """
    unit, product = c.acc_u, 0.0
    on_gpu = c.promises.profile != "interpret"
    if c.compute is torch.float64:
        return unit, product
    if on_gpu and all(t.dtype in HALVES for t in tensors):
        unit = max(unit, TENSOR_CORE_UNIT)
    elif on_gpu and all(t.dtype in FLOAT8 for t in tensors):
        unit = max(unit, FP8_TENSOR_CORE_UNIT)
    elif c.dot_operand:
        unit = max(unit, TENSOR_CORE_UNIT) if on_gpu else unit
        product = 2 * c.dot_operand + c.dot_operand**2
    elif c.dot_product:
        unit = max(unit, TENSOR_CORE_UNIT) if on_gpu else unit
        product = c.dot_product
    return unit, product


def product_of(
    c: Context,
    a: tuple[Array, Array | None],
    b: tuple[Array, Array | None],
    unit: float,
    product: float,
    terms: int = 0,
    start: tuple[Array, Array | None] | None = None,
) -> tuple[Array, Array | None, bool]:
    """Midpoint, radius and overflow of a matrix product with K terms in any order, fused or not, plus `start`.

    K roundings of products and partial sums: all but the last are bounded by (K - 1) units of sum |a| |b|, the last
    by half a unit in the last place of the result.
    """
    (x, rx), (y, ry) = _cut(c, a, product), _cut(c, b, product)
    k = x.shape[-1]
    out: Array = np.matmul(x, y)
    size_x, size_y = np.abs(x), np.abs(y)
    magnitude: Array = np.matmul(size_x, size_y)
    spread: Array | None = None
    if rx is not None:
        spread = np.matmul(rx, size_y if ry is None else size_y + ry)
    if ry is not None:
        other = np.matmul(size_x, ry)
        spread = other if spread is None else spread + other
    if start is not None:
        out = out + start[0]
        magnitude = magnitude + np.abs(start[0])
        k += 1
        if start[1] is not None:
            spread = start[1] + (0 if spread is None else spread)
    if spread is not None:
        magnitude = magnitude + spread
    if k == 0:
        return out, None, False
    largest = peak(magnitude)
    finite = largest < c.largest
    exact_below = 2.0**11 if product else math.inf  # whole numbers that TF32 holds
    if (
        spread is None
        and finite
        and magnitude.size
        and largest * unit < 1
        and peak(size_x) <= exact_below
        and peak(size_y) <= exact_below
        and whole(x)
        and whole(y)
        and (start is None or whole(start[0]))
    ):
        return out, None, False
    relative = c.gamma(max(k - 1, 0), unit) + product + k * c.eps
    before = magnitude * relative
    before += _underflow(c, k, product)
    if spread is not None:
        before += spread
    after = c.power(np.abs(out) + before)
    after *= max(unit, c.u)
    after += before
    if not finite and spread is None and start is None and peak(size_x) < math.inf and peak(size_y) < math.inf:
        # of finite numbers nothing is special but the sums that overflow
        after = np.where(magnitude < c.largest, after, np.inf)
    elif not finite:
        known = np.matmul(_finite(size_x, rx), _finite(size_y, ry)) < c.largest
        if start is not None:
            known = known & (np.abs(np.nan_to_num(start[0], posinf=0, neginf=0)) < c.largest)
        # an operand that may be 0 times an infinite one: NaN, or an infinity of either sign
        for vague, other in ((_vague(size_x, rx), np.isinf(y)), (np.isinf(x), _vague(size_y, ry))):
            known = known & (np.matmul(vague.astype(float), other.astype(float)) == 0)
        after = np.where(np.isfinite(out), np.where(known, after, np.inf), np.where(known, 0, np.inf))
        after = np.where(np.isnan(after), np.inf, after)
    # a computed operand may reach the kernel's product in another scale (attention divides by the sum of its weights at
    # the end): the other operand summed by itself must not overflow
    for computed, factor, axis, vector in ((rx, size_y, -2, x.ndim == 1), (ry, size_x, -1, y.ndim == 1)):
        if computed is None or not factor.size:
            continue
        along = axis if factor.ndim > 1 else 0
        # the product with a vector has no axis for it
        reach = k * factor.max(axis=along, keepdims=not vector and factor.ndim > 1)
        if (reach >= c.largest).any():
            after = np.where(np.isfinite(out) & (reach >= c.largest), np.inf, after)
            finite = False
    return out, after, not finite


def _cut(c: Context, pair: tuple[Array, Array | None], product: float) -> tuple[Array, Array | None]:
    """An operand as TF32 holds it: where it is subnormal, the cut bits are an absolute error and not a relative one."""
    mid, rad = pair
    if not product:
        return pair
    size = np.abs(mid)
    low, reach = (size, size) if rad is None else (size - rad, size + rad)
    lost = (reach > 0) & (low < (TF32X3_BELOW if c.dot_product else c.tiny))
    if not lost.any():
        return pair
    return mid, extent(rad, mid) + np.where(lost, np.minimum(reach, TF32_QUANTUM), 0)


def _underflow(c: Context, k: int, product: float) -> Any:
    """Absolute error of `k` products; a TF32 one is truncated, a whole spacing, and TF32x3 adds three of them.

    In the type of the midpoints: half the smallest float64 is no float64.
    """
    return k * c.eta * (6 if c.dot_product else 2) if product else k * c.eta


def _vague(size: Array, rad: Array | None) -> Array:
    return np.zeros(size.shape, bool) if rad is None else np.asarray((rad > 0) & (rad >= size))


def _finite(size: Array, rad: Array | None) -> Array:
    return np.where(np.isfinite(size), size, 0) + (0 if rad is None else rad)


def stored(c: Context, value: Any) -> tuple[Array, Array | None]:
    """An operand of a product: what was computed before may be rounded to its dtype, as tensor cores need it."""
    mid, rad = operand(c, value)
    if rad is None:
        return mid, rad
    if type(value) is BallTensor and value.factors and value.rad is not None:
        # scales may be factored out of the sum
        rad = np.maximum(extent(rad, mid), extent(arithmetic.in_any_order(value), mid))
    form = FORMATS.get(value.dtype)
    if form is None or form.unit <= c.unit:
        return mid, rad
    return mid, rad + form.unit * c.power(np.abs(mid) + rad) + form.half_spacing


def matmul(a: Any, b: Any) -> BallTensor:
    """The matrix product."""
    c = CURRENT.get()
    unit, product = _units(c, a, b)
    first, second, dtype = stored(c, a), stored(c, b), result_dtype(a, b)

    def begun(term: Array | None = None, spread: Array | None = None) -> BallTensor:
        start = None if term is None else (term, spread)
        mid, rad, over = product_of(c, first, second, unit, product, start=start)
        return BallTensor(c, mid, rad, dtype, over)

    out = begun()
    out.begun = begun
    return out


def outer(a: Any, b: Any) -> BallTensor:
    """The outer product."""
    return arithmetic.mul(a[:, None], b[None, :])


def addmm(bias: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> BallTensor:
    """beta bias + alpha (a @ b), the bias added last or first."""
    product = matmul(a, b)
    if alpha != 1:
        product = arithmetic.mul(product, alpha)
    return arithmetic.add(bias if beta == 1 else arithmetic.mul(bias, beta), product)


def linear(x: Any, weight: Any, bias: Any = None) -> BallTensor:
    """x @ weight.T + bias."""
    c = CURRENT.get()
    unit, product = _units(c, x, weight)
    w, rw = operand(c, weight)
    turned = (np.swapaxes(w, -1, -2), None if rw is None else np.swapaxes(rw, -1, -2)) if w.ndim > 1 else (w, rw)
    start = None if bias is None else operand(c, bias)
    mid, rad, over = product_of(c, stored(c, x), turned, unit, product, start=start)
    return BallTensor(c, mid, rad, result_dtype(x, weight), over)


def einsum(equation: Any, *operands: Any) -> BallTensor:
    """A contraction: pairs of terms from the left, each with the bound of a matrix product."""
    c = CURRENT.get()
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    equation = equation.replace(" ", "")
    if "..." in equation:
        equation = _named_ellipsis(equation, [t.ndim for t in operands])
    left, _, right = equation.partition("->")
    terms = left.split(",")
    if not _:
        joined = "".join(terms)
        right = "".join(sorted(s for s in set(joined) if joined.count(s) == 1))
    value, subscript = operands[0], terms[0]
    if len(operands) == 1:
        return _contract(c, value, subscript, None, "", right)
    for position, (other, next_subscript) in enumerate(zip(operands[1:], terms[1:], strict=True), start=2):
        later = set("".join(terms[position:]) + right)
        keep = "".join(dict.fromkeys(s for s in subscript + next_subscript if s in later))
        target = right if position == len(operands) else keep
        value, subscript = _contract(c, value, subscript, other, next_subscript, target), target
    return value  # type: ignore[no-any-return]


def _named_ellipsis(equation: str, ranks: list[int]) -> str:
    """`equation` with `...` spelled out in letters it does not use."""
    free = [ch for ch in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if ch not in equation]
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    widest = max(r - len(t.replace("...", "")) for t, r in zip(terms, ranks, strict=True) if "..." in t)
    letters = "".join(free[:widest])
    named = []
    for term, rank in zip(terms, ranks, strict=True):
        own = rank - len(term.replace("...", ""))
        named.append(term.replace("...", letters[widest - own :] if own else ""))
    return ",".join(named) + arrow + right.replace("...", letters)


def _contract(c: Context, a: Any, sa: str, b: Any, sb: str, out: str) -> BallTensor:
    (x, rx) = operand(c, a)
    (y, ry) = (np.asarray(1.0, c.real), None) if b is None else operand(c, b)
    unit, product = _units(c, a, a if b is None else b)
    if b is not None:
        (x, rx), (y, ry) = _cut(c, (x, rx), product), _cut(c, (y, ry), product)
    equation = f"{sa},{sb}->{out}"
    sizes = dict(zip(sa, x.shape, strict=True)) | dict(zip(sb, y.shape, strict=True))
    k = math.prod(sizes[s] for s in set(sa + sb) - set(out))
    mid = np.einsum(equation, x, y)
    magnitude = np.einsum(equation, np.abs(x) + extent(rx, x), np.abs(y) + extent(ry, y))
    spread = magnitude - np.einsum(equation, np.abs(x), np.abs(y)) if rx is not None or ry is not None else None
    whole_terms = rx is None and ry is None and whole(x) and whole(y)
    if c.finite(magnitude) and whole_terms and (not magnitude.size or magnitude.max() * unit < 1):
        return BallTensor(c, np.asarray(mid), None, a.dtype)
    relative = c.gamma(max(k, 1), unit) + product + (k + 4) * c.eps
    rad = magnitude * relative + _underflow(c, k, product)
    if spread is not None:
        rad = rad + spread + 4 * c.eps * magnitude
    if not c.finite(magnitude):
        rad = np.where(magnitude < c.largest, rad, np.inf)
    return BallTensor(c, np.asarray(mid), np.asarray(rad), a.dtype if b is None else result_dtype(a, b))


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> BallTensor:
    """softmax(query @ key.T * scale + mask) @ value: whole, or in tiles that rescale a running maximum.

    A tiled kernel multiplies its running sums by exp(old max - new max) for each tile that raises the maximum (at
    least 16 keys a tile), works with exp2 of scores scaled beforehand, rounds the probabilities to the dtype of
    `value` before the second product, and divides once at the end.
    """
    c = CURRENT.get()
    if dropout_p:
        note("dropout")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        groups = query.shape[-3] // key.shape[-3]
        key = key.moved(lambda a: np.repeat(a, groups, -3))
        value = value.moved(lambda a: np.repeat(a, groups, -3))
    unit, product = _units(c, query, key)
    k, rk = operand(c, key)
    turned = (np.swapaxes(k, -1, -2), None if rk is None else np.swapaxes(rk, -1, -2))
    mid, rad, over = product_of(c, operand(c, query), turned, unit, product)
    scores = arithmetic.mul(BallTensor(c, mid, rad, query.dtype, over), factor)
    # the scale folded into log2(e), or into the query before the product: two more roundings
    s, rs = scores.operand()
    rs = extent(rs, s) + 2 * c.u * np.abs(s)
    masked = None
    if attn_mask is not None:
        if getattr(attn_mask, "dtype", None) is torch.bool:
            masked = ~attn_mask.numpy()
        else:
            biased = arithmetic.add(BallTensor(c, s, rs, query.dtype), attn_mask)
            s, rs_biased = biased.operand()
            rs = extent(rs_biased, s)
    if is_causal:
        rows, columns = s.shape[-2:]
        masked = ~np.tri(rows, columns, dtype=bool)
    if masked is not None:
        s = np.where(masked, -np.inf, s)
        rs = np.where(masked, 0, rs)
    keys = s.shape[-1]
    tiles = min(max(keys - 1, 0), math.ceil(keys / 16))
    probabilities, prob_rad = softmax_of(c, s, rs, -1, rescales=tiles)
    _, prob_rad_stored = stored(c, BallTensor(c, probabilities, prob_rad, value.dtype))
    prob_rad = extent(prob_rad_stored, probabilities)
    v, rv = operand(c, value)
    v_unit, v_product = _units(c, value)
    out, spread, over = product_of(c, (probabilities, prob_rad), (v, rv), v_unit, v_product)
    spread = extent(spread, out) + c.div * np.abs(out) + c.flush
    if np.isnan(out).any():
        spread = np.where(np.isnan(out), np.where(np.isnan(probabilities).any(-1, keepdims=True), 0, spread), spread)
    return BallTensor(c, out, spread, result_dtype(query, value), over)
