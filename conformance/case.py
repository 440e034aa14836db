"""One test id, run: a lane of a trial in one dtype, with its counts and findings."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from conformance import runtime, simplification
from conformance.device import policy, precompile, sanitizer, watch
from conformance.device.judge import Judge
from conformance.explore import Found, explore
from conformance.failures import ConformanceFailure, Finding
from conformance.flight import Flight
from conformance.lanes import Lane
from conformance.op import Op
from conformance.oracles import crash
from conformance.oracles.objection import Objection
from conformance.oracles.refusals import Refused
from conformance.oracles.relations import Related
from conformance.report.coverage import Coverage
from conformance.report.explanations import ORACLES
from conformance.report.records import CaseResult, thin
from conformance.report.trust import Bias
from conformance.trial import Trial
from strategies import Call

# Findings come in the order of the oracles: what touched memory before the wrong values that follow from it.
_RANK = {oracle: rank for rank, oracle in enumerate(ORACLES)}
# Hypothesis spends half of a run on climbing a target: with few examples that costs variety and finds less.
_CLIMBING = 1000


def seed_of(op: Op, dtype: torch.dtype | None, seed: int) -> int:
    """The seed of the calls in a dtype: `seed` itself for the first dtype of an op, another one for each of the others.

    So the ids of a lane reach four times as many shapes together. To draw once for all of them would save three of a
    hundred: drawing takes less than a thirtieth of a call's time.
    """
    dtypes = op.dtypes()
    return seed + (dtypes.index(dtype) << 32 if dtype in dtypes else 0)  # beyond every seed that is counted up


def _simplify(op: Op, found: Found, kind: type[ConformanceFailure], check: Callable[[Any], list[Objection]]) -> None:
    """Replace the call that was found by the simplest to which the same oracle objects."""
    drawn = found.call
    objections: dict[Call, Objection] = {}

    def again(call: Call) -> Any:
        return dataclasses.replace(drawn, call=call) if isinstance(drawn, Related) else call

    def fails(call: Call) -> bool:
        objection = next((o for o in check(again(call)) if o.failure is kind), None)
        if objection is not None:
            objections[call] = objection
        return objection is not None

    simplest = simplification.simplify(op, call_of(drawn), fails)
    if simplest in objections:
        found.call, found.objection = again(simplest), objections[simplest]


@dataclasses.dataclass
class Outcome:
    """The result of a case for the record, and the findings that it made."""

    result: CaseResult
    findings: list[Finding]
    interrupted: bool = False


def call_of(drawn: Any) -> Call:
    """The call in what a lane draws."""
    return drawn.call if isinstance(drawn, (Refused, Related)) else drawn


def dtype_name(dtype: torch.dtype | None) -> str:
    """The dtype as test ids spell it; "any" where the op fixes every dtype."""
    return "any" if dtype is None else str(dtype).removeprefix("torch.")


def run(
    trial: Trial,
    lane: Lane,
    dtype: torch.dtype | None,
    *,
    examples: int,
    seed: int,
    xfail: str | None = None,
    progress: Callable[[], None] | None = None,
    stop_at_first: bool = False,
) -> Outcome:
    """The outcome of one case: `examples` calls, the smallest call of each kind of objection among them.

    With `stop_at_first` it ends at the first call with an objection, as it was drawn.
    """
    result = CaseResult(dtype_name(dtype), lane.id, xfail=xfail)
    reason = lane.skip(trial)
    if reason is not None:
        result.skipped = reason
        return Outcome(result, [])
    trial.tightness.clear()
    trial.ended, trial.raised = False, None
    coverage = Coverage()
    judge = Judge(trial, lane)
    seed = seed_of(trial.op, dtype, seed)
    precompile.prepare(judge, lane, dtype, examples=examples, seed=seed)
    counted = watch.totals().copy()
    started = time.perf_counter()
    unjudged: list[runtime.CannotBeJudged] = []
    passed_over = 0  # those of the search, which shrinking adds to
    flight = Flight(trial) if lane.flies else None

    def check(drawn: Any) -> list[Objection]:
        trial.launched = None
        flown, mark = id(drawn) in trial.ahead, trial.tightness.mark()
        try:
            found = judge(drawn)
            if found and flown:  # what is wrong with a launch is shown by itself
                trial.land()
                trial.tightness.back(mark)
                found = judge(drawn)
        except runtime.CannotBeJudged as reason:
            unjudged.append(reason)
            return []
        coverage.count(call_of(drawn), trial.launched or ())
        return found

    def step() -> None:
        nonlocal passed_over
        passed_over = len(unjudged)
        if progress is not None:
            progress()

    def ahead(calls: list[Any]) -> None:
        if trial.remote is None:  # a child process makes its own
            for drawn in calls:
                call_of(drawn).prepare()
            if flight is not None:
                try:
                    flight(calls)
                except runtime.CannotBeJudged:  # `check` meets it again
                    trial.land()

    exploration = explore(
        lane.draw(trial, dtype),
        check,
        examples=examples,
        seed=seed,
        target=trial.tightness.last if examples >= _CLIMBING else None,
        progress=step,
        ahead=ahead,
        shrink=xfail is None,  # nobody reads the call of a failure that is known
        stop_at_first=stop_at_first,
        clock=judge.clock,
    )
    if unjudged and not exploration.found:  # what was judged is no pass of the others
        result.skipped = str(unjudged[0])
        return Outcome(result, [], exploration.interrupted)
    if xfail is None and not stop_at_first and not exploration.interrupted:
        try:
            for kind, found in exploration.found.items():
                if kind in simplification.KINDS:
                    _simplify(trial.op, found, kind, check)
        except KeyboardInterrupt:
            exploration.interrupted = True
    result.seconds = time.perf_counter() - started
    result.examples = exploration.examples - passed_over
    result.rejected = exploration.rejected
    result.coverage = coverage.counts()
    specializations = watch.totals().since(counted).specializations
    if specializations:
        result.coverage["specialization"] = dict(specializations)
    tightness = trial.tightness
    if tightness.judged:
        result.undecided = tightness.undecided / tightness.judged
    for bias in tightness.biases:
        result.bias = result.bias or Bias()
        result.bias.add(bias)
    if tightness.points:
        ratios = [ratio for _, ratio in tightness.points]
        result.worst_ratio, result.median_ratio = max(ratios), statistics.median(ratios)
        result.points = thin(tightness.points)
    if lane.ends and not exploration.found and not trial.ended and trial.raised is not None:
        for objection in crash.nothing_ended(trial, trial.raised):
            exploration.found[objection.failure] = Found(trial.raised.call, objection)
    ranked = sorted(exploration.found.values(), key=lambda each: _RANK[each.objection.failure.oracle])
    findings = [trial.finding(each.objection, call_of(each.call)) for each in ranked]
    if policy.current().sanitizer:
        findings = [sanitizer.attach(finding, policy.current().sanitizer) for finding in findings]
    result.objections = sorted(f.oracle for f in findings)
    return Outcome(result, findings, exploration.interrupted)
