"""The oracle `bounds`."""

from __future__ import annotations

from conformance.events import Kind
from conformance.failures import BoundsFailure
from conformance.launch import Launch
from conformance.oracles.objection import Objection, from_events
from conformance.trial import Trial

LAW = "Every address that is read or written is an element of an argument."
KINDS = frozenset(
    {
        Kind.OUT_OF_BOUNDS_READ,
        Kind.OUT_OF_BOUNDS_WRITE,
        Kind.GAP_READ,
        Kind.GAP_WRITE,
        Kind.WILD_POINTER,
        Kind.ILLEGAL_ADDRESS,
        Kind.ACCESS_WIDTH,
        Kind.MISREAD,
        Kind.MISALIGNED,
        Kind.ARRAY_INDEX,
    }
)


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to what the observer saw outside the elements of every argument, gaps of strided views included."""
    return from_events(BoundsFailure, LAW, launch.events, KINDS)
