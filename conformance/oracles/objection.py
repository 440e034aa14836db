"""What an oracle says against a launch; the trial turns it into a `Finding`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from conformance.events import Event, Kind
from conformance.failures import ConformanceFailure, ValueEvidence


@dataclasses.dataclass(frozen=True)
class Objection:
    """One objection: the failure class of the oracle that makes it, its law, and the evidence."""

    failure: type[ConformanceFailure]
    law: str
    summary: str
    events: tuple[Event, ...] = ()
    value: ValueEvidence | None = None
    notes: tuple[str, ...] = ()


def from_events(
    failure: type[ConformanceFailure], law: str, events: Iterable[Event], kinds: frozenset[Kind]
) -> list[Objection]:
    """At most one objection: all events of those kinds, the first of them as the summary."""
    mine = tuple(e for e in events if e.kind in kinds)
    return [Objection(failure, law, str(mine[0]), events=mine)] if mine else []
