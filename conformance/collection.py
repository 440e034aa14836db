"""What the tests of this process found, gathered for the terminal summary and the results file."""

from __future__ import annotations

import os
from collections.abc import Iterable

from conformance import runtime
from conformance.case import Outcome
from conformance.report.records import Report
from conformance.trial import Trial

_reports: dict[tuple[str, str], Report] = {}


def add(trial: Trial, seed: int, outcome: Outcome) -> None:
    """Keep the outcome of one test id."""
    report = _reports.get((trial.op.name, trial.name))
    if report is None:
        versions = runtime.versions()
        report = Report(
            op=trial.op.name,
            kernel=trial.name,
            runtime=runtime.current(),
            versions={n: v for n, v in versions.items() if n not in ("runtime", "device")},
            device=versions["device"],
            seed=seed,
        )
        _reports[trial.op.name, trial.name] = report
    report.results.append(outcome.result)
    report.findings.extend(outcome.findings)
    report.interrupted = report.interrupted or outcome.interrupted


def reports() -> list[Report]:
    """The reports of the tests that ran in this process, and of the workers that have ended."""
    return list(_reports.values())


def absorb(others: Iterable[Report]) -> None:
    """Add the reports of another process (an xdist worker)."""
    merged = Report.merge([*_reports.values(), *others])
    _reports.clear()
    _reports.update({(r.op, r.kernel): r for r in merged})


def worker() -> bool:
    """Whether this process is an xdist worker, whose reports travel to the controller."""
    return "PYTEST_XDIST_WORKER" in os.environ
