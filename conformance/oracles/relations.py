"""The oracle `relations`."""

from __future__ import annotations

from conformance.failures import RelationsFailure
from conformance.launch import Settings
from conformance.oracles.bits import describe
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call

LAW = "The metamorphic relations that the op declares hold bit for bit."


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a trial, None if it does."""
    return None if trial.op.relations else "the op declares no relations"


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object to the first relation that the kernel breaks."""
    base = trial.launch(call, Settings())
    if base.error is not None:
        return []
    outputs = [o.clone() for o in base.outputs]
    axes = trial.op.argument_axes()
    for relation in trial.op.relations:
        values = relation.transform(base.values, axes)
        predicted = None if values is None else relation.predict(outputs, axes)
        if predicted is None:
            continue
        other = trial.launch(call, Settings(), values=values)
        if other.error is not None:
            difference: tuple[str, ...] | None = (f"the transformed call raised {other.error}",)
        else:
            difference = describe(predicted, other.outputs, "the relation", "the kernel")
        if difference:
            return [Objection(RelationsFailure, LAW, f"{relation.law} {difference[0]}", notes=difference)]
    return []
