"""Judges the call of a saved finding again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.failures import Finding
from conformance.launch import Kernel
from conformance.op import Op
from strategies import Call

if TYPE_CHECKING:
    from conformance.trial import Trial


def replay(finding: Finding, kernel: Kernel, op: Op) -> list[Finding]:
    """The objections of the finding's oracle to the same call, now; empty once it no longer objects.

    A finding does not know in which lane it was made; those that draw such calls are tried in turn.
    """
    from conformance.trial import Trial

    trial = Trial(op, kernel)
    return _judge(finding, trial, Call.from_json(finding.call))


def _judge(finding: Finding, trial: Trial, call: Call) -> list[Finding]:
    from conformance.lanes import LANES

    own = [finding.oracle] if finding.oracle in LANES else []
    for lane in dict.fromkeys([*own, "launch", "special_values", "exact"]):
        objections = LANES[lane].check(trial, call)
        again = [trial.finding(each, call) for each in objections if each.failure.oracle == finding.oracle]
        if again:
            return again
    return []
