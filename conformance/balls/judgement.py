"""`judge`: one output of a launch against its ball."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import torch

from conformance.balls.context import Array, power_below, power_below_long
from conformance.balls.enclosure import Ball
from conformance.balls.formats import FORMATS, Format
from conformance.balls.tensor import numbers_of
from conformance.promises import Promises

NONE = np.zeros(0, np.int64)
LEAST = 5e-324


@dataclasses.dataclass(frozen=True, eq=False)
class Verdict:
    """What the accuracy oracle says about one output.

    `ratio` is the worst error over bound of the decided elements (inf where the class is wrong: NaN, infinity), at
    `index`, where the kernel gave `got`, the exact value is `exact` and [`low`, `high`] is allowed; `ulp` is the error
    there in units in the last place of the output dtype. `wrong` are flat indices, `undecided` the number of elements
    whose bound is infinite, of `total`. `heuristic` names operations without a proven rule. `bounded` tells that some
    bound is not zero, so that the ratio says something; `bias` is the mean error over bound, positive away from zero.
    """

    ok: bool
    ratio: float
    index: tuple[int, ...]
    got: float
    exact: float
    low: float
    high: float
    ulp: float
    wrong: Any
    undecided: int
    total: int
    heuristic: tuple[str, ...] = ()
    bounded: bool = False
    bias: float = 0.0

    def __str__(self) -> str:
        where = f" at {list(self.index)}" if self.index else ""
        return (
            f"worst error {self.ratio:.3g} of bound ({self.ulp:.3g} ulp){where}: got {self.got!r}, "
            f"exact {self.exact!r}, allowed [{self.low!r}, {self.high!r}]; undecided {self.undecided}/{self.total}"
        )


def judge(got: torch.Tensor, ball: Ball, promises: Promises) -> Verdict:
    """The verdict on `got` (CPU tensor, shape of the ball) against `ball`.

    The store rounds by half a unit in the last place of the output dtype, unless that is the compute dtype. Values
    beyond the largest finite one are infinite, or the largest (`promises.overflow`). A NaN is right only where the
    exact value is NaN, and must be there unless `promises.nan` is "ignore". Elements with an infinite bound are
    undecided: counted, never wrong.

    >>> from conformance.balls.enclosure import enclose
    >>> x = torch.tensor([1.0, 2.0])
    >>> (ball,) = enclose(lambda x: x * 3, [x], Promises())
    >>> judge(x * 3, ball, Promises()).ok, judge(x * 3.0001, ball, Promises()).ok
    (True, False)
    """
    if tuple(got.shape) != ball.shape:
        raise ValueError(f"got has shape {tuple(got.shape)}, the reference gives {ball.shape}")
    if ball.exact is not None:
        return _judge_exact(got, ball)
    with np.errstate(all="ignore"):
        value = numbers_of(got, ball.mid.dtype)
        form = FORMATS.get(ball.dtype)
        reach = bound_of(ball, form)
        difference = value - ball.mid
        error = np.abs(difference)
        if not ball.mid.size:
            return Verdict(True, 0.0, (), 0.0, 0.0, 0.0, 0.0, 0.0, NONE, 0, 0, ball.heuristic)
        # the least float makes 0 / 0 zero and changes nothing else
        quotient = error / (reach + LEAST)
        flat = int(quotient.argmax())  # of the first NaN, if there is one
        largest = np.maximum.reduce(reach, axis=None)
        if quotient.item(flat) <= 1 and largest < math.inf:
            outward = np.copysign(quotient, difference) * np.sign(ball.mid)
            bias = float(np.add.reduce(outward, axis=None) / quotient.size)
            return _verdict(quotient, flat, value, reach, bool(largest > 0), ball, form, bias=bias)
        return _judge_slowly(value, ball, reach, error, form, promises)


def bound(ball: Ball) -> Array:
    """The bound on each stored value: the ball's radius and the rounding of the store; inf or NaN where undecided."""
    with np.errstate(all="ignore"):
        return ball.rad if ball.exact is not None else bound_of(ball, FORMATS.get(ball.dtype))


def bound_of(ball: Ball, form: Format | None) -> Array:
    """The same for an output of a known format."""
    if form is None or ball.dtype is ball.compute:
        return ball.rad
    extended = ball.mid.dtype == np.longdouble and np.finfo(np.longdouble).nmant > 52
    size = np.abs(ball.mid) + ball.rad
    out = (power_below_long if extended else power_below)(size)
    out *= form.unit
    out += ball.rad
    if form.half_spacing:
        out += form.half_spacing
    return out


def undecided(ball: Ball) -> Array:
    """A mask of the elements that the ball cannot judge: their bound is infinite, and the exact value is not."""
    mask: Array = ~np.isfinite(ball.rad) & ~(~np.isfinite(ball.mid) & (ball.rad == 0))
    return mask


def _judge_slowly(
    value: Array, ball: Ball, reach: Array, error: Array, form: Format | None, promises: Promises
) -> Verdict:
    """The general case: zero bounds, special values, overflow."""
    mid = ball.mid
    undecided = ~np.isfinite(reach) & ~(np.isinf(mid) & (ball.rad == 0))
    special = ~np.isfinite(mid) & (ball.rad == 0)
    reach = np.where(special, 0, reach)
    undecided &= ~special
    if promises.nan == "ignore":
        undecided |= np.isnan(mid)
    same = (value == mid) | (np.isnan(value) & np.isnan(mid))
    inside = same | (error <= reach)
    if form is not None:
        limit = form.overflow
        beyond = np.abs(mid) + ball.rad >= limit  # before the store rounds
        if beyond.any():
            saturates = promises.overflow == "saturate" or form.saturates
            infinite = np.isinf(value) & (np.sign(value) == np.sign(mid))
            clamped = (np.abs(value) == form.largest) & (np.sign(value) == np.sign(mid))
            stored = clamped if promises.overflow == "saturate" else infinite | clamped if saturates else infinite
            inside = np.where(np.isfinite(mid), inside | (beyond & stored), inside | (stored & np.isinf(mid)))
    with np.errstate(all="ignore"):
        quotient = np.where(inside & ~(error <= reach), 0, np.where(error == 0, 0, error / reach))
    quotient = np.where(np.isnan(quotient), np.where(inside, 0, np.inf), quotient)
    quotient = np.where(undecided, 0, np.where(inside & (quotient > 1), 1, quotient))
    wrong = np.flatnonzero(~inside & ~undecided)
    bounded = bool(reach.max() > 0)
    flat = int(quotient.argmax())
    bias = 0.0 if wrong.size else _outward(quotient, value, mid)
    return _verdict(quotient, flat, value, reach, bounded, ball, form, wrong, int(undecided.sum()), bias)


def _verdict(
    quotient: Array,
    flat: int,
    value: Array,
    reach: Array,
    bounded: bool,
    ball: Ball,
    form: Format | None,
    wrong: Any = NONE,
    undecided: int = 0,
    bias: float = 0.0,
) -> Verdict:
    """The verdict on the element number `flat`, the worst; right where none is `wrong`."""
    exact = float(ball.mid.item(flat))
    bound = float(reach.item(flat))
    got = float(value.item(flat))
    index: list[int] = []
    rest = flat
    for size in reversed(quotient.shape):
        rest, position = divmod(rest, size)
        index.append(position)
    return Verdict(
        not wrong.size,
        float(quotient.item(flat)),
        tuple(reversed(index)),
        got,
        exact,
        exact - bound,
        exact + bound,
        ulps_between(got, exact, form),
        wrong,
        undecided,
        int(quotient.size),
        ball.heuristic,
        bounded,
        bias,
    )


def _outward(quotient: Array, value: Array, mid: Array) -> float:
    """The mean of error over bound, positive where the value is further from zero than the exact one."""
    signed = np.where(quotient > 0, quotient * (np.sign(value - mid) * np.sign(mid)), 0.0)
    return float(signed.mean())


def ulps_between(got: float, exact: float, form: Format | None) -> float:
    """|got - exact| in units in the last place of `exact` in the output's format (whole numbers for integers)."""
    if got == exact or (got != got and exact != exact):
        return 0.0
    difference = abs(got - exact)
    if form is None or not math.isfinite(difference):
        return difference if difference == difference else math.inf
    power = max(math.frexp(exact)[1] - 1, form.emin) if exact else form.emin
    try:
        return math.ldexp(difference, form.precision - 1 - power)
    except OverflowError:  # a huge error of a tiny value
        return math.inf


def _judge_exact(got: torch.Tensor, ball: Ball) -> Verdict:
    assert ball.exact is not None
    expected = ball.exact.to(got.dtype) if got.dtype != ball.exact.dtype else ball.exact
    wrong = torch.nonzero((got != expected).reshape(-1)).reshape(-1).numpy()
    flat = int(wrong[0]) if wrong.size else 0
    shape = ball.shape
    if not got.numel():
        return Verdict(True, 0.0, (), 0.0, 0.0, 0.0, 0.0, 0.0, NONE, 0, 0, ball.heuristic)
    exact, value = float(expected.reshape(-1)[flat]), float(got.reshape(-1)[flat])
    index = tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()
    ratio = np.inf if wrong.size else 0.0
    return Verdict(
        not wrong.size,
        ratio,
        index,
        value,
        exact,
        exact,
        exact,
        abs(value - exact),
        wrong,
        0,
        got.numel(),
        ball.heuristic,
    )
