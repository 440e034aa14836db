"""The oracle `accuracy`."""

from __future__ import annotations

from conformance.failures import AccuracyFailure, ValueEvidence
from conformance.launch import Launch
from conformance.oracles.objection import Objection
from conformance.trial import Trial

LAW = "Every element lies inside the ball of the reference: its exact value, and what rounding may add to it."


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to an element outside its ball; the worst ratio of error to bound is kept for the report."""
    evidence = trial.judge(launch)
    return [] if evidence is None else [objection(evidence)]


def objection(evidence: ValueEvidence) -> Objection:
    """The objection to the element that the evidence is of."""
    summary = (
        f"{evidence.wrong_count} of {_count(evidence.shape)} elements are wrong, the worst at {evidence.index}: "
        f"got {evidence.got!r}, exact {evidence.exact!r}, allowed [{evidence.low!r}, {evidence.high!r}]"
    )
    notes = ("the bound is an estimate: the reference uses an operation without a rule",) if evidence.heuristic else ()
    return Objection(AccuracyFailure, LAW, summary, value=evidence, notes=notes)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for n in shape:
        count *= n
    return count
