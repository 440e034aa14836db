"""The oracle `races`."""

from __future__ import annotations

from conformance.events import Kind
from conformance.failures import RacesFailure
from conformance.launch import Launch
from conformance.oracles.objection import Objection, from_events
from conformance.trial import Trial

LAW = "No element is written by two programs, or read after another program wrote it (atomics among themselves may)."
_ORDER = frozenset(
    {
        Kind.READ_AFTER_WRITE,
        Kind.WRITE_AFTER_READ,
        Kind.DATA_RACE,
        Kind.BARRIER_DIVERGENCE,
        Kind.DEADLOCK,
        Kind.WARP,
    }
)
_DUPLICATES = frozenset({Kind.WRITE_CONFLICT, Kind.LANE_CONFLICT})
KINDS = _ORDER | _DUPLICATES


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to hazards between programs or threads; `duplicate_writes=True` lets several write one element."""
    kinds = _ORDER if trial.promises.duplicate_writes else KINDS
    return from_events(RacesFailure, LAW, launch.events, kinds)
