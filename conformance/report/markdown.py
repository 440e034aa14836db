"""The summary of results in Markdown, for a page of the documentation or a comment on a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from conformance.report.html import SYMBOLS
from conformance.report.records import CaseResult, Report
from conformance.report.trust import leaning, mistrusted


def build(reports: Iterable[Report]) -> str:
    """The Markdown text: where it ran, a matrix for each runtime, the worst ratios, skips by reason, and findings."""
    merged = sorted(Report.merge(reports), key=lambda report: (report.runtime, report.op, report.kernel))
    parts = ["# Conformance results", _verdict(merged)]
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Report]] = {}
    for report in merged:
        groups.setdefault((report.runtime, report.device, tuple(sorted(report.versions.items()))), []).append(report)
    for (runtime, device, versions), group in groups.items():
        parts += [f"## {runtime}: {device}", ", ".join(f"{name} {version}" for name, version in versions)]
        parts += ["\n".join(_matrix(group))]
    parts += ["\n".join(["## Skipped", "", *_skips(merged)]), "\n".join(["## Findings", "", *_findings(merged)])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdict(reports: Sequence[Report]) -> str:
    examples, findings = sum(report.examples for report in reports), sum(len(report.findings) for report in reports)
    statuses = Counter(result.status for report in reports for result in report.results)
    ids = ", ".join(f"{statuses[status]} {status}" for status in SYMBOLS if statuses[status]) or "none"
    seconds = sum(result.seconds for report in reports for result in report.results)
    plural = "s" if len(reports) != 1 else ""
    text = (
        f"{examples:,} examples over {len(reports)} kernel{plural} in {seconds:,.0f} s of judging; cases (dtype and "
        f"lane): {ids}; findings: {findings}."
    )
    interrupted = any(report.interrupted for report in reports)
    said = [text, *(["The run was interrupted."] if interrupted else [])]
    return "\n\n".join([" ".join(said), *mistrusted(reports), *leaning(reports)])


def _matrix(reports: Sequence[Report]) -> Iterator[str]:
    """A row for each op, kernel and dtype; a cell has the examples of a lane, and its outcome unless that is right."""
    lanes = list(dict.fromkeys(result.oracle for report in reports for result in report.results))
    yield "| op | kernel | dtype | " + " | ".join(lanes) + " | worst ratio | undecided |"
    yield "|---|---|---|" + "---|" * (len(lanes) + 2)
    for report in reports:
        for dtype in dict.fromkeys(result.dtype for result in report.results):
            results = {result.oracle: result for result in report.results if result.dtype == dtype}
            cells = [_cell(results.get(lane)) for lane in lanes]
            ratios = [r.worst_ratio for r in results.values() if r.worst_ratio is not None]
            undecided = [r.undecided for r in results.values() if r.undecided is not None]
            cells += [f"{max(ratios):.3g}" if ratios else "", f"{max(undecided):.1%}" if undecided else ""]
            yield f"| {report.op} | {_escape(report.kernel)} | {dtype} | {' | '.join(cells)} |"


def _cell(result: CaseResult | None) -> str:
    if result is None:
        return ""
    if result.status == "skipped":
        return "skipped"
    if result.objections:
        return f"{result.examples} **{SYMBOLS[result.status]}**: {', '.join(result.objections)}"
    return str(result.examples)


def _skips(reports: Sequence[Report]) -> Iterator[str]:
    reasons = Counter(result.skipped for report in reports for result in report.results if result.skipped is not None)
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        yield f"- {count} cases: {_escape(reason)}"
    if not reasons:
        yield "Nothing was skipped."


def _findings(reports: Sequence[Report]) -> Iterator[str]:
    for report in reports:
        for finding in report.findings:
            yield f"- **{finding.oracle}** {finding.op} / {_escape(finding.kernel)}: {_escape(finding.summary)}"
    if not any(report.findings for report in reports):
        yield "No oracle objected."


def _escape(text: str) -> str:
    """The text in one line, in which a table's bar and HTML stand for themselves."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
