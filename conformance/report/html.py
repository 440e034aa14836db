"""The HTML report: one file without outside resources, made from results files."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from conformance.failures import Finding
from conformance.report import plots
from conformance.report.calls import arguments, fault
from conformance.report.causes import likely_causes
from conformance.report.coverage import DIMENSIONS
from conformance.report.explanations import ORACLES
from conformance.report.picture import picture
from conformance.report.records import CaseResult, Report
from conformance.report.text import render

SYMBOLS = {"passed": "ok", "failed": "objects", "xfailed": "expected", "skipped": "skipped"}


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the matrix: one kernel in one dtype, with a result (or None) for each lane."""

    op: str
    kernel: str
    runtime: str
    dtype: str
    cells: tuple[CaseResult | None, ...]

    @property
    def status(self) -> str:
        """The worst status of the cells."""
        present = {cell.status for cell in self.cells if cell is not None}
        return next((status for status in ("failed", "xfailed", "passed") if status in present), "skipped")


def build(reports: Iterable[Report]) -> str:
    """The HTML text of the report on these reports; shards of one run are merged first."""
    merged = sorted(Report.merge(reports), key=lambda report: (report.ok, report.op, report.kernel, report.runtime))
    lanes = list(dict.fromkeys(result.oracle for report in merged for result in report.results))
    groups = [_rows(report, lanes) for report in merged]
    environment = Environment(
        loader=PackageLoader("conformance.report"),
        autoescape=select_autoescape(["html", "j2"], default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    return environment.get_template("report.html.j2").render(
        reports=merged,
        lanes=lanes,
        laws={lane: ORACLES[lane].law for lane in lanes if lane in ORACLES},
        groups=groups,
        rows=[row for group in groups for row in group],
        symbols=SYMBOLS,
        badges={"no objection": "passed", "objected to": "failed", "mistrusted": "failed", "nothing ran": "skipped"},
        kernels=[_kernel(report) for report in merged],
        faults=_faults(finding for report in merged for finding in report.findings),
        skips=_skips(merged),
        totals=_totals(merged),
    )


def _rows(report: Report, lanes: Sequence[str]) -> list[Row]:
    by_id = {(result.dtype, result.oracle): result for result in report.results}
    dtypes = dict.fromkeys(result.dtype for result in report.results)
    return [
        Row(report.op, report.kernel, report.runtime, dtype, tuple(by_id.get((dtype, lane)) for lane in lanes))
        for dtype in dtypes
    ]


def _kernel(report: Report) -> dict[str, Any]:
    points = [point for result in report.results for point in result.points]
    name = f"{report.op} / {report.kernel}"
    return {
        "report": report,
        "name": name,
        "seconds": sum(result.seconds for result in report.results),
        "slowest": sorted(report.results, key=lambda result: -result.seconds)[:5],
        "scatter": plots.scatter(points, f"{name}: error over bound against size") if points else None,
        "histogram": plots.histogram(points, f"{name}: distribution of error over bound") if points else None,
        "coverage": _coverage(report),
    }


def _coverage(report: Report) -> list[tuple[str, list[tuple[str, int]]]]:
    """The examples by dimension and class, classes without one included; nothing where no coverage was recorded."""
    counts: dict[str, Counter[str]] = {}
    for result in report.results:
        for dimension, names in result.coverage.items():
            counts.setdefault(dimension, Counter()).update(names)
    if not counts:
        return []
    dimensions = dict.fromkeys(itertools.chain(DIMENSIONS, counts))
    table = []
    for dimension in dimensions:
        seen = counts.get(dimension, Counter())
        classes = dict.fromkeys(itertools.chain(DIMENSIONS.get(dimension, ()), sorted(seen)))
        if classes and seen:  # of a CUDA launch no BLOCK is known, which is no hole
            table.append((dimension, [(name, seen[name]) for name in classes]))
    return table


def _faults(findings: Iterable[Finding]) -> list[list[dict[str, Any]]]:
    """The findings, those of one fault of a kernel together, as it shows in several dtypes."""
    faults: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for finding in findings:
        key = (finding.op, finding.kernel, finding.runtime, *fault(finding))
        faults.setdefault(key, []).append(_finding(finding))
    return list(faults.values())


def _code(text: str) -> Markup:
    """The text with what stands in backticks as code."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts))


def _finding(finding: Finding) -> dict[str, Any]:
    drawn = picture(finding)
    dtype = next((argument.dtype for argument in arguments(finding.call) if argument.dtype), "")
    return {
        "finding": finding,
        "dtype": dtype,
        "sites": list(dict.fromkeys((event.site, event.kernel) for event in finding.events if event.site is not None)),
        "call": [(argument.name, argument.text) for argument in arguments(finding.call)],
        "causes": likely_causes(finding),
        "picture": plots.tensor(drawn) if drawn is not None else Markup(""),
        "caption": drawn.title if drawn is not None else "",
        "bin": drawn.bin if drawn is not None else (1, 1),
        "text": render(dataclasses.replace(finding, script="")),
    }


def _skips(reports: Sequence[Report]) -> list[tuple[str, int]]:
    reasons = Counter(result.skipped for report in reports for result in report.results if result.skipped is not None)
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))


def _totals(reports: Sequence[Report]) -> dict[str, Any]:
    statuses = Counter(result.status for report in reports for result in report.results)
    return {
        "kernels": len(reports),
        "examples": sum(report.examples for report in reports),
        "findings": sum(len(report.findings) for report in reports),
        "rejected": sum(result.rejected for report in reports for result in report.results),
        "statuses": statuses,
        "seconds": sum(result.seconds for report in reports for result in report.results),
        "interrupted": any(report.interrupted for report in reports),
    }
