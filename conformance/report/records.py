"""What a check found, as data: `Report`, `CaseResult`, and the JSON files that hold them and single findings."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.failures import Finding
from conformance.report.documents import SCHEMA, read_document, write_json
from conformance.report.encoding import decode_finding, encode, number
from conformance.report.trust import Bias, mistrusted

FINDINGS = Path(".conformance") / "findings"
MAX_POINTS = 512  # error points kept of one case: enough for a plot, and a report stays under a megabyte


@dataclasses.dataclass
class CaseResult:
    """The outcome of one test id, a dtype and an oracle lane (`float16`, `launch`).

    `examples` are the calls judged, `rejected` the draws that gave no call (0 by the house rules), `seconds` the wall
    time, `skipped` the reason why nothing ran, `xfail` the reason why an objection was expected. `objections` are the
    ids of the oracles that objected. `worst_ratio` and `median_ratio` are error over bound; `undecided` is the share of
    elements, 0 to 1, that the ball of the reference cannot judge, on average over the launches. `points` are (elements
    of the output, ratio) pairs, `coverage` counts the examples by dimension and class of the input space
    (`conformance.report.coverage`), `bias` is how errors lean to one side (`conformance.report.trust`).
    """

    dtype: str
    oracle: str
    examples: int = 0
    rejected: int = 0
    seconds: float = 0.0
    skipped: str | None = None
    xfail: str | None = None
    objections: list[str] = dataclasses.field(default_factory=list)
    worst_ratio: float | None = None
    median_ratio: float | None = None
    undecided: float | None = None
    points: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    coverage: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    bias: Bias | None = None

    @property
    def id(self) -> str:
        """The id of the test that the result is of, as pytest shows it between brackets."""
        return f"{self.dtype}-{self.oracle}"

    @property
    def status(self) -> str:
        """One of `skipped`, `xfailed`, `failed`, `passed`."""
        if self.skipped is not None:
            return "skipped"
        if self.objections:
            return "failed" if self.xfail is None else "xfailed"
        return "passed"


@dataclasses.dataclass
class Report:
    """Everything that one check of one kernel found: a result for each test id, and the findings.

    `runtime` is `interpret` or `gpu`; `versions` maps package to version (`torch`, `triton`, `cupy`, `python`);
    `device` names the hardware in words; `seed` is the seed that the calls were drawn with.
    """

    op: str
    kernel: str
    runtime: str
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    device: str = ""
    seed: int = 0
    results: list[CaseResult] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    interrupted: bool = False

    @property
    def ok(self) -> bool:
        """Whether no oracle objected, except where an objection was expected."""
        return not any(result.status == "failed" for result in self.results) and not self._unexpected()

    def _unexpected(self) -> bool:
        expected = {oracle for result in self.results if result.xfail is not None for oracle in result.objections}
        return any(finding.oracle not in expected for finding in self.findings)

    @property
    def verdict(self) -> str:
        """`objected to`, `mistrusted`, `no objection`, or `nothing ran` where every test id was skipped."""
        if not self.ok:
            return "objected to"
        if any(mistrusted([self])):
            return "mistrusted"
        return "no objection" if any(result.skipped is None for result in self.results) else "nothing ran"

    @property
    def examples(self) -> int:
        """The number of calls judged, over all results."""
        return sum(result.examples for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values (`report` in schema.json); non-finite numbers are the strings nan, inf, -inf."""
        encoded: dict[str, Any] = encode(self)
        return encoded

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """The report that `to_json` wrote."""
        fields = dict(data)
        fields["results"] = [_decode_result(result) for result in data["results"]]
        fields["findings"] = [decode_finding(finding) for finding in data["findings"]]
        return cls(**fields)

    @staticmethod
    def merge(reports: Iterable[Report]) -> list[Report]:
        """One report for each op, kernel, runtime, device and set of versions: the shards of a run put together."""
        merged: dict[tuple[Any, ...], Report] = {}
        for report in reports:
            key = (report.op, report.kernel, report.runtime, report.device, tuple(sorted(report.versions.items())))
            if key in merged:
                _absorb(merged[key], report)
            else:
                merged[key] = Report.from_json(report.to_json())
        return list(merged.values())


def _decode_result(data: Mapping[str, Any]) -> CaseResult:
    fields = dict(data)
    for name in ("worst_ratio", "median_ratio", "undecided"):
        fields[name] = None if data.get(name) is None else number(data[name])
    fields["bias"] = None if data.get("bias") is None else Bias(**data["bias"])
    fields["points"] = [(int(size), number(ratio)) for size, ratio in data.get("points", [])]
    return CaseResult(**fields)


def _absorb(into: Report, other: Report) -> None:
    known = {(result.dtype, result.oracle): result for result in into.results}
    for result in other.results:
        if (result.dtype, result.oracle) in known:
            _add(known[result.dtype, result.oracle], result)
        else:
            into.results.append(dataclasses.replace(result))
    into.findings.extend(finding for finding in other.findings if finding not in into.findings)
    into.interrupted = into.interrupted or other.interrupted


def _add(into: CaseResult, other: CaseResult) -> None:
    examples = into.examples + other.examples
    if into.undecided is not None or other.undecided is not None:
        weighted = (into.undecided or 0.0) * into.examples + (other.undecided or 0.0) * other.examples
        into.undecided = weighted / examples if examples else 0.0
    ratios = [ratio for ratio in (into.worst_ratio, other.worst_ratio) if ratio is not None]
    into.worst_ratio = max(ratios, default=None)
    into.points = thin([*into.points, *other.points])
    if into.points:
        into.median_ratio = statistics.median(ratio for _, ratio in into.points)
    if other.bias is not None:
        into.bias = into.bias or Bias()
        into.bias.merge(other.bias)
    into.examples = examples
    into.rejected += other.rejected
    into.seconds += other.seconds
    into.skipped = into.skipped if other.skipped is not None else None
    into.xfail = into.xfail or other.xfail
    into.objections = sorted({*into.objections, *other.objections})
    for dimension, classes in other.coverage.items():
        counts = into.coverage.setdefault(dimension, {})
        for name, count in classes.items():
            counts[name] = counts.get(name, 0) + count


def thin(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most `MAX_POINTS` of the points, evenly spaced in rank of ratio, so that the largest is always kept."""
    if len(points) <= MAX_POINTS:
        return list(points)
    ranked = sorted(points, key=lambda point: (point[1], point[0]))
    step = (len(ranked) - 1) / (MAX_POINTS - 1)
    return [ranked[round(step * rank)] for rank in range(MAX_POINTS)]


def results_document(reports: Iterable[Report]) -> dict[str, Any]:
    """The JSON document of a results file: `{"schema": 1, "reports": [...]}`."""
    return {"schema": SCHEMA, "reports": [report.to_json() for report in reports]}


def read_results(path: str | Path) -> list[Report]:
    """The reports of a results file. Raises ValueError, naming the file and the place, where it is not one."""
    document = read_document(path, "reports")
    return [Report.from_json(report) for report in document["reports"]]


def finding_name(finding: Finding) -> str:
    """The file name of a finding: op, kernel, oracle and a hash of the call, so that equal findings share one."""
    identity = json.dumps([encode(finding.call), finding.summary, finding.runtime], sort_keys=True)
    digest = hashlib.sha256(identity.encode()).hexdigest()[:10]
    words = (re.sub(r"[^A-Za-z0-9_.]+", "_", word).strip("_.") or "unnamed" for word in (finding.op, finding.kernel))
    return "-".join([*words, finding.oracle, digest]) + ".json"


def save_finding(finding: Finding, directory: str | Path = FINDINGS) -> Path:
    """The path of the JSON file that now holds the finding; `directory` is made where it does not exist."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    return write_json(Path(directory) / finding_name(finding), {"schema": SCHEMA, "finding": encode(finding)})


def save_findings(findings: Iterable[Finding], directory: str | Path = FINDINGS) -> tuple[list[Path | None], str]:
    """The path of each finding, None where it could not be written, and a sentence that says so, "" where all were."""
    paths: list[Path | None] = []
    reasons: list[str] = []
    for finding in findings:
        try:
            paths.append(save_finding(finding, directory))
        except OSError as error:
            paths.append(None)
            reasons.append(str(error))
    if not reasons:
        return paths, ""
    plural = "s" if len(paths) != 1 else ""
    return paths, f"{len(reasons)} of {len(paths)} finding{plural} could not be saved in {directory}: {reasons[0]}"


def load_finding(path: str | Path) -> Finding:
    """The finding in a file that `save_finding` wrote. Raises ValueError where the file is none."""
    return decode_finding(read_document(path, "finding")["finding"])
