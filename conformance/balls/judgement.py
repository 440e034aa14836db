"""`judge`: one output of a launch against its ball."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import torch

from conformance.balls.context import Array, peak, power_below, power_below_long
from conformance.balls.enclosure import Ball
from conformance.balls.formats import FORMATS, Format
from conformance.balls.tensor import numbers_of
from conformance.promises import Promises

NONE = np.zeros(0, np.int64)
# the least numbers of the types of midpoints
LEAST = {np.dtype(real): np.nextafter(real(0), real(1)) for real in (np.float64, np.longdouble)}


@dataclasses.dataclass(eq=False, slots=True)
class Verdict:
    """What the accuracy oracle says about one output.

    `ratio` is the worst error over bound of the decided elements (inf where the class is wrong: NaN, infinity), at
    `index`, where the kernel gave `got`, the exact value is `exact` and [`low`, `high`], at most `bound` from it, is
    allowed; `ulp` is the error there in units in the last place of the output dtype, which is `form`. `wrong` are flat
    indices, `undecided` the number of elements whose bound is infinite, of `total`, in an output of `shape`.
    `heuristic` names operations without a proven rule. `bounded` tells that some bound is not zero, so that the ratio
    says something; `bias` is the mean error over bound, positive away from zero.
    """

    ratio: float
    flat: int
    got: float
    exact: float
    bound: float
    shape: tuple[int, ...]
    form: Format | None
    wrong: Any
    total: int
    heuristic: tuple[str, ...] = ()
    bounded: bool = False
    bias: float = 0.0
    undecided: int = 0

    # most verdicts are asked for no more than whether they are right, and how close that was

    @property
    def ok(self) -> bool:
        """Whether no element is wrong."""
        return not self.wrong.size

    @property
    def index(self) -> tuple[int, ...]:
        """Where the worst element stands; () in an output without elements."""
        return tuple(map(int, np.unravel_index(self.flat, self.shape))) if self.total else ()

    @property
    def low(self) -> float:
        """The smallest value allowed there."""
        return self.exact - self.bound

    @property
    def high(self) -> float:
        """The largest value allowed there."""
        return self.exact + self.bound

    @property
    def ulp(self) -> float:
        """The error there in units in the last place."""
        return ulps_between(self.got, self.exact, self.form)

    def __str__(self) -> str:
        where = f" at {list(self.index)}" if self.index else ""
        return (
            f"worst error {self.ratio:.3g} of bound ({self.ulp:.3g} ulp){where}: got {self.got!r}, "
            f"exact {self.exact!r}, allowed [{self.low!r}, {self.high!r}]; undecided {self.undecided}/{self.total}"
        )


@np.errstate(all="ignore")
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
    mid = ball.mid
    if got.shape != mid.shape:
        raise ValueError(f"got has shape {tuple(got.shape)}, the reference gives {ball.shape}")
    if ball.exact is not None:
        return _judge_exact(got, ball)
    form = FORMATS.get(ball.dtype)
    if not mid.size:
        return Verdict(0.0, 0, 0.0, 0.0, 0.0, mid.shape, form, NONE, 0, ball.heuristic)
    value = numbers_of(got, mid.dtype)
    reach = bound_of(ball, form)
    difference = value - mid
    # the least float makes 0 / 0 zero and changes nothing else
    outward = difference / (reach + LEAST[mid.dtype])
    largest, undecided = peak(reach), 0
    if not largest < math.inf:
        unknown = np.isinf(reach) & np.isfinite(mid)
        outward = np.where(unknown, 0, outward)
        undecided = int(unknown.sum())
    quotient = np.abs(outward)
    flat = quotient.argmax()  # of the first NaN, if there is one
    if not quotient.item(flat) <= 1:
        return _judge_slowly(value, ball, reach, np.abs(difference), form, promises)
    # so what is decided is finite: an infinity is off by infinity or NaN, whose quotient is infinite or NaN
    outward *= np.sign(mid)
    bias = np.add.reduce(outward, axis=None) / mid.size
    return _verdict(quotient, flat, value, reach, bool(largest > 0), ball, form, undecided=undecided, bias=bias)


@np.errstate(all="ignore")
def bound(ball: Ball) -> Array:
    """The bound on each stored value: the ball's radius and the rounding of the store; inf or NaN where undecided."""
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
    return Verdict(
        float(quotient.item(flat)),
        int(flat),
        float(value.item(flat)),
        float(ball.mid.item(flat)),
        float(reach.item(flat)),
        quotient.shape,
        form,
        wrong,
        quotient.size,
        ball.heuristic,
        bounded,
        float(bias),
        undecided,
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
    if not got.numel():
        return Verdict(0.0, 0, 0.0, 0.0, 0.0, ball.shape, None, NONE, 0, ball.heuristic)
    exact, value = float(expected.reshape(-1)[flat]), float(got.reshape(-1)[flat])
    ratio = math.inf if wrong.size else 0.0
    return Verdict(ratio, flat, value, exact, 0.0, ball.shape, None, wrong, got.numel(), ball.heuristic)
