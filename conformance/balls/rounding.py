"""Rounding on arrays of midpoints and radii: the one place where a radius grows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from conformance.balls.context import Array, Context, peak
from conformance.balls.formats import FORMATS
from conformance.balls.tensor import BallTensor

# the difference |m - fl(m)| is taken from midpoints that are themselves rounded to 2**-53
ROUNDED_MIDPOINT = 1 + 2.0**-24


def total(*radii: Array | None) -> Array | None:
    """The sum of radii, None if all are."""
    out: Array | None = None
    for rad in radii:
        if rad is not None:
            out = rad if out is None else out + rad
    return out


def specials(c: Context, mid: Array, rad: Array, *operands: tuple[Array, Array | None]) -> Array:
    """`rad` with NaN resolved: 0 where a special value follows from special operands, inf where nothing is known.

    A result that is NaN or infinite is decided (radius 0: the class must match) if every operand of it is decided.
    """
    if math.isnan(peak(rad)):
        rad = np.where(np.isnan(rad), np.inf, rad)
    if peak(np.abs(mid)) < math.inf:
        return rad
    special = ~np.isfinite(mid)
    for _, other in operands:
        if other is not None:
            special = special & np.isfinite(other)
    return np.where(special, 0, rad)


def rounded(
    c: Context,
    mid: Array,
    rad: Array | None,
    dtype: torch.dtype,
    operands: tuple[tuple[Array, Array | None], ...] = (),
    ulps: float | None = None,
    floor: Any = 0.0,
) -> BallTensor:
    """The ball of an operation whose exact result lies in `mid` +- `rad` and that rounds by `ulps` (half a unit).

    `floor` is an absolute error besides (underflow, flush to zero).
    """
    reach = np.abs(mid)
    if rad is not None:
        reach = reach + rad
    out = c.power(reach)
    out *= c.u if ulps is None else ulps
    if rad is not None:
        out += rad
    if type(floor) is np.ndarray:
        out = out + floor
    elif floor:
        out += floor
    overflows = False
    if not peak(reach) < c.largest:
        out = specials(c, mid, out, *operands)
        overflows = True
    return BallTensor(c, mid, out, dtype, overflows)


def rounded_exactly(c: Context, mid: Array, dtype: torch.dtype, floor: Any = 0.0) -> BallTensor:
    """The ball of one correctly rounded operation on exact operands: its error is known, |mid - fl(mid)|.

    Anything between the exact and the rounded value is inside, so a fused multiply-add is too. `floor` is the error of
    underflow, for a compute dtype that NumPy does not have.
    """
    if c.native is None:
        return rounded(c, mid, None, dtype, floor=floor)
    out = np.abs(mid - mid.astype(c.native).astype(c.real))
    largest = peak(out)
    if not largest < c.largest:
        overflowing = np.where(np.isfinite(mid), c.power(np.abs(mid)) * c.u, 0.0)
        out = np.where(np.isfinite(out), out * ROUNDED_MIDPOINT, overflowing)
        return BallTensor(c, mid, out, dtype, True)
    if not largest:
        return BallTensor(c, mid, None, dtype)
    out *= ROUNDED_MIDPOINT
    return BallTensor(c, mid, out, dtype)


def extent(rad: Array | None, like: Array) -> Any:
    """`rad`, or zeros of the shape of `like`."""
    return np.zeros_like(like) if rad is None else rad


def perhaps_rounded(c: Context, ball: BallTensor, dtype: torch.dtype) -> BallTensor:
    """The ball before it is cast to a wider `dtype`: torch has rounded it to its own narrow one, and a kernel may."""
    own = FORMATS.get(ball.dtype)
    if own is None or own.unit <= max(c.unit, FORMATS[dtype].unit):
        return ball
    if ball.rad is not None:
        return BallTensor(c, ball.mid.copy(), ball.rad.copy(), ball.dtype, ball.overflows, True).settle()
    rounded = torch.from_numpy(np.asarray(ball.mid, np.float64)).to(ball.dtype).double().numpy().astype(c.real)
    with np.errstate(invalid="ignore"):
        gap = np.where(np.isfinite(ball.mid), np.abs(ball.mid - rounded), 0.0)
    return ball if not gap.any() else BallTensor(c, ball.mid.copy(), gap, ball.dtype, ball.overflows)
