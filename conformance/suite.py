"""The tests of one kernel, as an ordinary parametrized pytest function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from hypothesis.errors import InvalidArgument

from conformance import case, lanes, profiles
from conformance.checking import check_lanes, choose_dtypes, merge
from conformance.failures import ConformanceFailure, Finding, Objections
from conformance.launch import Kernel
from conformance.op import Op, validate_kernel
from conformance.oracles import agreement as agreement_oracle
from conformance.promises import Promises
from conformance.report import collection
from conformance.trial import Trial


def conformance_test(
    op: Op,
    kernel: Kernel,
    *,
    oracles: Sequence[str] | None,
    dtypes: Sequence[torch.dtype] | None,
    xfail: Mapping[str, str] | None,
    meta: Mapping[str, Any] | None,
    promises: Mapping[str, Any],
) -> Callable[..., None]:
    """A test function with one id for each dtype and lane; see `Op.conformance`."""
    validate_kernel(op, kernel)
    trial = Trial(op, kernel, merge(op.promises, dict(promises)), meta=tuple((meta or {}).items()))
    names = check_lanes(oracles) or lanes.of(trial)
    expected = dict(xfail or {})
    ids = {
        f"{case.dtype_name(dtype)}-{lane}": (dtype, lane)
        for dtype in choose_dtypes(op, trial.promises, dtypes)
        for lane in names
    }
    _validate_xfail(expected, ids)
    parameters = []
    for identifier, (dtype, lane) in ids.items():
        reason = expected.get(identifier, expected.get(lane))
        marks = [pytest.mark.xfail(reason=reason, strict=True, raises=_FAILURES)] if reason else []
        parameters.append(pytest.param(dtype, lane, reason, id=identifier, marks=marks))

    @pytest.mark.parametrize(("dtype", "lane", "reason"), parameters)
    def test(dtype: torch.dtype | None, lane: str, reason: str | None) -> None:
        profile = profiles.current()
        outcome = case.run(trial, lanes.LANES[lane], dtype, examples=profile.examples, seed=profile.seed, xfail=reason)
        collection.add(trial, profile.seed, outcome)
        if outcome.result.skipped is not None:
            pytest.skip(outcome.result.skipped)
        raise_findings(outcome.findings)
        if outcome.interrupted:
            raise KeyboardInterrupt

    # what a soak runs: the ids that are expected to pass
    test.trial = trial  # type: ignore[attr-defined]
    test.cases = tuple(  # type: ignore[attr-defined]
        made for name, made in ids.items() if not {name, made[1]} & set(expected)
    )
    _place(test, kernel)
    return test


def agreement_test(
    op: Op, kernel: Kernel, other: Kernel, *, dtypes: Sequence[torch.dtype] | None, promises: Mapping[str, Any]
) -> Callable[..., None]:
    """A test function that two kernels of the op agree, one id for each dtype; see `Op.agreement`."""
    for one in (kernel, other):
        validate_kernel(op, one)
    promised: Promises = merge(op.promises, dict(promises))
    first, second = Trial(op, kernel, promised), Trial(op, other, promised)
    parameters = [
        pytest.param(dtype, id=f"{case.dtype_name(dtype)}-agreement") for dtype in choose_dtypes(op, promised, dtypes)
    ]

    @pytest.mark.parametrize("dtype", parameters)
    def test(dtype: torch.dtype | None) -> None:
        profile = profiles.current()
        lane = lanes.Lane(
            "agreement",
            agreement_oracle.LAW,
            lanes.LANES["launch"].draw,
            lambda trial, call: agreement_oracle.check(trial, second, call),
        )
        outcome = case.run(first, lane, dtype, examples=profile.examples, seed=profile.seed)
        collection.add(first, profile.seed, outcome)
        if outcome.result.skipped is not None:
            pytest.skip(outcome.result.skipped)
        raise_findings(outcome.findings)

    _place(test, kernel)
    return test


def raise_findings(findings: Sequence[Finding]) -> None:
    """Raise what was found: one failure as itself, several as a group, each of its oracle's own class."""
    __tracebackhide__ = True
    failures = [failure_class(f.oracle)(f) for f in findings]
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Objections(failures)


_FAILURES = (ConformanceFailure, Objections)


def failure_class(oracle: str) -> type[ConformanceFailure]:
    """The exception class of an oracle."""
    return next(c for c in ConformanceFailure.__subclasses__() if c.oracle == oracle)


def _validate_xfail(expected: Mapping[str, str], ids: Mapping[str, Any]) -> None:
    known = {*ids, *(lane for _, lane in ids.values())}
    for name, reason in expected.items():
        if name not in known:
            raise InvalidArgument(
                f"xfail names {name!r}, which is no id of this test; ids are {', '.join(sorted(known))}"
            )
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidArgument(f"xfail[{name!r}] needs a reason, best with a link to an issue")


def _place(test: Callable[..., None], kernel: Kernel) -> None:
    """Let pytest and IDEs point at the kernel, where it is a plain function."""
    inner = inspect.unwrap(kernel) if inspect.isfunction(kernel) else None
    if inner is not None:
        test.place_as = inner  # type: ignore[attr-defined]
