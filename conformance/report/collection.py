"""The results of one pytest session, gathered where the tests run and handed to the process that reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from conformance.report.documents import write_json
from conformance.report.records import Report, results_document

if TYPE_CHECKING:
    from conformance.case import Outcome
    from conformance.trial import Trial

_reports: list[Report] = []
_handed = 0  # how many of them `fresh` has given


def add(trial: Trial, seed: int, outcome: Outcome) -> None:
    """Keep the outcome of one test id."""
    from conformance import runtime  # versions need torch, which only a process that runs tests has loaded

    versions = runtime.versions()
    packages = {name: version for name, version in versions.items() if name not in ("runtime", "device")}
    report = Report(
        trial.op.name, trial.name, versions["runtime"], packages, versions["device"], seed,
        [outcome.result], list(outcome.findings), outcome.interrupted,
    )  # fmt: skip
    _reports.append(report)


def reports() -> list[Report]:
    """What was collected until now, one report for each kernel."""
    return Report.merge(_reports)


def clear() -> None:
    """Forget what was collected: a session begins."""
    global _handed
    _reports.clear()
    _handed = 0


def fresh() -> list[Report]:
    """What was collected since the last call."""
    global _handed
    found = _reports[_handed:]
    _handed = len(_reports)
    return found


def to_text(reports: Iterable[Report]) -> str:
    """The reports as an xdist worker sends them, with the test that made them."""
    return json.dumps([report.to_json() for report in reports])


def take(text: str) -> None:
    """Collect the reports that a worker sent."""
    _reports.extend(Report.from_json(report) for report in json.loads(text))


def write(path: str, more: Iterable[Report] = ()) -> None:
    """Write what was collected to a results file."""
    write_json(path, results_document(Report.merge([*reports(), *more])))
