"""The oracle `inputs_kept`."""

from __future__ import annotations

from conformance.events import Kind
from conformance.failures import InputsKeptFailure
from conformance.launch import Launch
from conformance.memory import Placed
from conformance.oracles.objection import Objection
from conformance.trial import Trial

LAW = "Inputs that the op does not mutate, and all guard zones, are bytewise as before."


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to a changed byte in an input, in the gaps of a view, or in the guard zone of any tensor."""
    events = tuple(e for e in launch.events if e.kind is Kind.INPUT_WRITE)
    notes = [note for placed in (*launch.placed.values(), *launch.allocations) if (note := _changed(placed))]
    if not events and not notes:
        return []
    summary = str(events[0]) if events else notes[0]
    return [Objection(InputsKeptFailure, LAW, summary, events=events, notes=tuple(notes))]


def _changed(placed: Placed) -> str | None:
    if placed.geometry() != placed.lies:
        return f"{placed.name}: the kernel gave the tensor another shape, other strides or other memory"
    offsets = placed.changed()
    if offsets is None:
        return None
    first, last, span = int(offsets[0]), int(offsets[-1]), _bytes(placed)
    where = "after its last element" if first >= span else "before its first element" if last < 0 else "inside it"
    return f"{placed.name}: {offsets.numel()} bytes changed {where}, the first at byte {first} of {span}"


def _bytes(placed: Placed) -> int:
    tensor = placed.tensor
    if not tensor.numel():
        return 0
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return (reach + 1) * tensor.element_size()
