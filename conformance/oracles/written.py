"""The oracle `written`."""

from __future__ import annotations

import dataclasses

from conformance.events import Event, Kind
from conformance.failures import WrittenFailure
from conformance.launch import Launch
from conformance.oracles.bits import describe
from conformance.oracles.objection import Objection, from_events
from conformance.poison import Poison, is_poison
from conformance.regions import Role
from conformance.trial import Trial

LAW = "Each element of an output is written, and nothing depends on memory that nobody wrote."
KINDS = frozenset({Kind.UNINITIALIZED_READ, Kind.UNWRITTEN})


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to output elements that no program wrote, and to reads of memory that nobody wrote."""
    events = [*launch.events, *_unwritten(launch)]
    return from_events(WrittenFailure, LAW, events, KINDS)


def behind_wrong_values(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to wrong values that come from memory of the launcher's own which no kernel wrote.

    What torch computes from such memory after the launch is not seen as a read, so the call runs again over other
    poison; and only where values are wrong, since correct launchers, too, leave parts of their memory unwritten.
    """
    if launch.error is not None or launch.float_atomics or not (left := _unwritten_scratch(launch)):
        return []
    poison: Poison = "large" if launch.settings.poison == "nan" else "nan"
    again = trial.launch(launch.call, dataclasses.replace(launch.settings, poison=poison), values=launch.values)
    if again.error is not None or not describe(launch.outputs, again.outputs, "this", "other"):
        return []
    return from_events(WrittenFailure, LAW, left, KINDS)


def _unwritten_scratch(launch: Launch) -> list[Event]:
    found = []
    for placed in launch.allocations:
        shadow, tensor = placed.region.shadow, placed.tensor
        if placed.region.initialized or shadow is None or not tensor.numel():
            continue
        count, index = shadow.unwritten(tensor)
        if count:
            detail = (
                f"{count} of {tensor.numel()} elements were never written, the first at {index}, and the result "
                "depends on them"
            )
            found.append(Event(Kind.UNINITIALIZED_READ, placed.name, detail, index=index, count=count))
    return found


def _unwritten(launch: Launch) -> list[Event]:
    found = []
    for i, output in enumerate(launch.outputs):
        placed = launch.output_placed(i)
        if placed is None or placed.region.initialized or placed.region.role is Role.INOUT or not output.numel():
            continue
        name = (
            placed.name if placed.region.role is Role.OUT else "output" if len(launch.outputs) == 1 else f"output {i}"
        )
        shadow = placed.region.shadow
        if shadow is not None:
            count, index = shadow.unwritten(output)
        else:
            mask = is_poison(output.detach().cpu(), launch.settings.poison)
            count = int(mask.sum())
            index = tuple(int(k) for k in mask.nonzero()[0]) if count else None
        if count:
            detail = f"{count} of {output.numel()} elements were never written, the first at {index}"
            found.append(Event(Kind.UNWRITTEN, name, detail, index=index, count=count))
    return found
