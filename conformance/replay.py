"""Judges the call of a saved finding again."""

from __future__ import annotations

from typing import Any

from conformance.checking import merge
from conformance.failures import Finding
from conformance.lanes import LANES
from conformance.launch import Kernel
from conformance.op import Op
from conformance.oracles.refusals import Refused
from conformance.trial import Trial
from strategies import Call


def replay(finding: Finding, kernel: Kernel, op: Op, **promises: Any) -> list[Finding]:
    """The objections of the finding's oracle to the same call, now; empty once it no longer objects.

    `promises` are those that the kernel gives beyond the op, as `check` takes them.
    """
    trial = Trial(op, kernel, merge(op.promises, promises))
    call = Call.from_json(finding.call)
    # A launch oracle may have objected in any lane, and to the same call it objects in `launch` too.
    for name in ("launch", finding.oracle):
        if name in LANES:
            drawn = Refused(call, finding.summary.partition(":")[0]) if name == "refusals" else call
            again = [each for each in LANES[name].check(trial, drawn) if each.failure.oracle == finding.oracle]
            if again:
                return [trial.finding(each, call) for each in again]
    return []
