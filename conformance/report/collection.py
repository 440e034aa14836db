"""The results of one pytest session, gathered where the tests run and handed to the process that reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from conformance.report.documents import write_json
from conformance.report.records import Report, results_document

if TYPE_CHECKING:
    from conformance.case import Outcome
    from conformance.trial import Trial

KEY = "conformance_reports"  # in the output that an xdist worker sends when it ends

_reports: list[Report] = []


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
    _reports.clear()


def to_worker_output(output: dict[str, Any]) -> None:
    """Put the reports of this xdist worker into the output that it sends (`config.workeroutput`)."""
    output[KEY] = json.dumps([report.to_json() for report in reports()])


def from_worker_output(output: dict[str, Any]) -> None:
    """Take the reports that a worker sent (`node.workeroutput`); nothing where it died before it could."""
    _reports.extend(Report.from_json(report) for report in json.loads(output.get(KEY, "[]")))


def write(path: str, more: Iterable[Report] = ()) -> None:
    """Write what was collected to a results file."""
    write_json(path, results_document(Report.merge([*reports(), *more])))
