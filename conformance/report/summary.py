"""The end of a run on a terminal: what was judged, how close to the bounds it came, and what was skipped and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from conformance.report.records import CaseResult, Report
from conformance.report.trust import leaning, mistrusted


def summary_lines(reports: Iterable[Report]) -> list[str]:
    """Lines of plain text: a row for each op, kernel and dtype, then skips counted by reason, then what was found."""
    merged = Report.merge(reports)
    if not merged:
        return []
    return [*_table(list(_rows(merged))), *_skips(merged), *leaning(merged), *mistrusted(merged), *_verdict(merged)]


def _rows(reports: list[Report]) -> Iterator[tuple[str, ...]]:
    yield ("op", "kernel", "dtype", "examples", "worst ratio", "undecided", "objections")
    for report in sorted(reports, key=lambda report: (report.op, report.kernel)):
        for dtype in dict.fromkeys(result.dtype for result in report.results):
            results = [result for result in report.results if result.dtype == dtype and result.skipped is None]
            if results:
                yield (report.op, report.kernel, dtype, *_numbers(results))


def _numbers(results: list[CaseResult]) -> tuple[str, ...]:
    ratios = [result.worst_ratio for result in results if result.worst_ratio is not None]
    undecided = [result.undecided for result in results if result.undecided is not None]
    objections = sorted({oracle for result in results for oracle in result.objections})
    return (
        f"{sum(result.examples for result in results):,}",
        f"{max(ratios):.3g}" if ratios else "-",
        f"{max(undecided):.1%}" if undecided else "-",
        ", ".join(objections) or "-",
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    if len(rows) < 2:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _skips(reports: list[Report]) -> Iterator[str]:
    reasons = Counter(result.skipped for report in reports for result in report.results if result.skipped is not None)
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        yield f"skipped {count}: {reason}"


def _verdict(reports: list[Report]) -> Iterator[str]:
    rejected = sum(result.rejected for report in reports for result in report.results)
    if rejected:
        yield f"{rejected} rejected draws: a strategy filters, which wastes examples"
    if any(report.interrupted for report in reports):
        yield "interrupted: what was found until then is kept"
    examples = sum(report.examples for report in reports)
    findings = sum(len(report.findings) for report in reports)
    failed = sum(not report.ok for report in reports)
    kernels = f"{len(reports)} kernel{'s' if len(reports) != 1 else ''}"
    outcome = f"{findings} finding{'s' if findings != 1 else ''}, {failed} of {kernels} objected to"
    idle = sum(report.verdict == "nothing ran" for report in reports)
    if idle:
        yield f"nothing ran for {idle} of {kernels}: every test id was skipped"
    trusted = not any(mistrusted(reports))
    clean = "no objection" if trusted else "mistrusted"
    verdict = outcome if failed or findings else clean if examples else "nothing was judged"
    yield f"{examples:,} examples over {kernels}: {verdict}"


def header_line(versions: Mapping[str, str]) -> str:
    """One line for pytest's header, from `conformance.runtime.versions()`: runtime, torch, triton, cupy and device."""
    packages = ", ".join(f"{name} {versions.get(name, 'none')}" for name in ("torch", "triton", "cupy"))
    return f"conformance: runtime {versions['runtime']}, {packages}, device {versions['device']}"
