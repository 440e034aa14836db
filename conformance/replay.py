"""Judges the call of a finding again: one that is saved, or one that stands in a script."""

from __future__ import annotations

import dataclasses
from typing import Any

from conformance.checking import merge
from conformance.failures import Finding
from conformance.lanes import LANES
from conformance.launch import Kernel
from conformance.op import Op
from conformance.oracles.refusals import Refused
from conformance.promises import Promises
from conformance.report.text import render
from conformance.trial import Trial
from strategies import Call


def replay(finding: Finding, kernel: Kernel, op: Op, **promises: Any) -> list[Finding]:
    """The objections of the finding's oracle to the same call, now; empty once it no longer objects.

    `promises` are those that the kernel gives beyond the op, as `check` takes them.
    """
    call = Call.from_json(finding.call)
    return _judged(finding.oracle, finding.summary, Trial(op, kernel, merge(op.promises, promises)), call)


def show(
    oracle: str,
    kernel: Kernel,
    op: Op,
    call: dict[str, Any],
    promises: Promises | None = None,
    meta: tuple[tuple[str, Any], ...] = (),
) -> None:
    """Print what the oracle says of the call (in its JSON form) now; scripts that reproduce a finding begin with it.

    What is printed shows accesses and relations between launches, which the values that a script prints do not.
    """
    trial = Trial(op, kernel, promises, meta=meta)
    still = _judged(oracle, "", trial, Call.from_json(call))
    for finding in still:
        print(render(dataclasses.replace(finding, script="")))
    if not still:
        print(f"{oracle} does not object to {trial.name} on this call")


def _judged(oracle: str, summary: str, trial: Trial, call: Call) -> list[Finding]:
    # A launch oracle may have objected in any lane, and to the same call it objects in `launch` too.
    for name in ("launch", oracle):
        if name in LANES:
            drawn = Refused(call, summary.partition(":")[0]) if name == "refusals" else call
            again = [each for each in LANES[name].check(trial, drawn) if each.failure.oracle == oracle]
            if again:
                return [trial.finding(each, call) for each in again]
    return []
