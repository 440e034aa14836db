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
from conformance.report.explanations import ORACLES
from conformance.report.text import render
from conformance.trial import Trial
from strategies import PATTERNS, Call, TensorDescription


def replay(finding: Finding, kernel: Kernel, op: Op, **promises: Any) -> list[Finding]:
    """The objections of the finding's oracle to the same call, now; empty once it no longer objects.

    A kernel that now raises on the call is objected to by `crash`, whatever the finding was. `promises` are those that
    the kernel gives beyond the op, as `check` takes them.

    Raises:
        ValueError: there is no such oracle, or the call cannot be built or is none of the op's.
    """
    if finding.oracle not in ORACLES:
        raise ValueError(f"the finding is of an oracle {finding.oracle!r}; there are {', '.join(ORACLES)}")
    call = _call(finding)
    if list(call) != list(op.inputs):
        raise ValueError(
            f"the finding's call has the arguments ({', '.join(call)}), {op.name} takes ({', '.join(op.inputs)}): "
            "give the op of the finding with --op FILE:NAME"
        )
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


def _call(finding: Finding) -> Call:
    try:
        call = Call.from_json(finding.call)
        for _, value in call.arguments:
            if isinstance(value, TensorDescription):
                if value.values.pattern not in PATTERNS:
                    raise ValueError(f"there is no pattern {value.values.pattern!r} of values")
                if value.values.pattern == "literal":
                    value.fill()
                    continue
                # one element tells whether there is such a distribution
                dataclasses.replace(value.values, pins=(), repeated=()).shared((1,), value.dtype)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(
            f"the call of the finding cannot be built: {type(error).__name__}: {error}. It is edited, or written by "
            "another version of triton-conformance"
        ) from error
    return call


def _judged(oracle: str, summary: str, trial: Trial, call: Call) -> list[Finding]:
    # A launch oracle may have objected in any lane, and to the same call it objects in `launch` too.
    # What `refusals` draws is to be refused, so that `launch` would object to what is right.
    crashed: list[Finding] = []
    for name in ("refusals",) if oracle == "refusals" else ("launch", oracle):
        if name in LANES:
            drawn = Refused(call, summary.partition(":")[0]) if name == "refusals" else call
            objections = LANES[name].check(trial, drawn)
            again = [each for each in objections if each.failure.oracle == oracle]
            if again:
                return [trial.finding(each, call) for each in again]
            crashed = crashed or [trial.finding(each, call) for each in objections if each.failure.oracle == "crash"]
    return crashed
