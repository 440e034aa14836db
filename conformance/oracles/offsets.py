"""The oracle `offsets`, as far as one launch shows it; `huge_strides` draws the calls that provoke it."""

from __future__ import annotations

from conformance.events import Kind
from conformance.failures import OffsetsFailure
from conformance.launch import Launch
from conformance.oracles.objection import Objection, from_events
from conformance.trial import Trial

LAW = "No offset overflows 32 bits on its way to an address, and every grid is one that CUDA launches."
KINDS = frozenset({Kind.OVERFLOW, Kind.GRID_LIMIT})


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to integer overflow that reached an address, and to grids over the limits of CUDA."""
    return from_events(OffsetsFailure, LAW, launch.events, KINDS)
