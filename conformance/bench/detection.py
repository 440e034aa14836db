"""`python -m conformance bench detection`: who finds which fault, after how long; the suite, rivals and peers.

The suite checks each fault of `conformance.faults` with its defaults. The others get the same faults, and as many CPU
seconds for each as the suite took for it, or on average where that is more (`attempts`).
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from conformance import check
from conformance.bench import detection_page, peers, rival_regimes
from conformance.bench.attempts import Attempt, attempt, cpu_seconds
from conformance.faults import FAULTS, Fault

PAGE = Path("docs/detection.md")
PLOT = Path("docs/detection.svg")
SUITE = "this suite"
# of each test id of a twin; the tests of the suite run more
_TWIN_EXAMPLES = 5


@dataclasses.dataclass
class Row:
    """A fault, and what became of it: by the suite, and by each rival that could be given it."""

    fault: Fault
    oracle: str | None
    examples: int
    seconds: float
    alarm: bool
    rivals: dict[str, Attempt] = dataclasses.field(default_factory=dict)


def faults() -> tuple[Fault, ...]:
    """Those that can show where kernels are interpreted."""
    return tuple(fault for fault in FAULTS if fault.runtime != "gpu")


def is_cuda(fault: Fault) -> bool:
    """Whether the kernel of the fault is a CUDA source."""
    file = sys.modules[fault.kernel.__module__].__file__
    return file is not None and Path(file).with_suffix(".cu").is_file()


def measure(fault: Fault) -> Row:
    """What the suite says of a fault: its first finding, and whether there is one for the twin."""
    started = cpu_seconds()
    report = check(fault.kernel, fault.op, stop_at_first=True, **fault.promises)
    seconds = cpu_seconds() - started
    first = next(iter(report.findings), None)
    passed = (
        fault.fixed is None
        or check(fault.fixed, fault.op, examples=_TWIN_EXAMPLES, stop_at_first=True, **fault.promises).ok
    )
    return Row(
        fault,
        oracle=first.oracle if first else None,
        examples=sum(result.examples for result in report.results),
        seconds=seconds,
        alarm=not passed,
    )


def budgets(rows: Sequence[Row]) -> dict[str, float]:
    """The CPU seconds that a rival has for each fault: those that the suite took, and not less than it took on average,
    so that in all the rival has more."""
    mean = statistics.fmean(row.seconds for row in rows)
    return {row.fault.name: max(row.seconds, mean) for row in rows}


def document(rows: Sequence[Row], reasons: dict[str, str]) -> dict[str, Any]:
    """The JSON: faults with who caught them, and the regimes; one that did not run has nulls and the reason.

    `as_soon` counts the faults caught in no more CPU seconds than the suite took for the same fault.
    """
    own = [(row, Attempt(row.oracle is not None, row.alarm, row.seconds)) for row in rows]
    regimes: dict[str, dict[str, Any]] = {SUITE: _regime(own)}
    for name in dict.fromkeys(name for row in rows for name in row.rivals):
        regimes[name] = _regime([(row, row.rivals[name]) for row in rows if name in row.rivals])
    nothing = dict.fromkeys(("caught", "as_soon", "applicable", "false_alarms", "seconds"))
    regimes |= {name: {**nothing, "reason": reason} for name, reason in reasons.items()}
    return {"faults": [_fault(row) for row in rows], "regimes": regimes}


def _regime(attempts: Sequence[tuple[Row, Attempt]]) -> dict[str, Any]:
    return {
        "caught": sum(each.caught for _, each in attempts),
        "as_soon": sum(each.caught and each.seconds <= row.seconds for row, each in attempts),
        "applicable": len(attempts),
        "false_alarms": sum(each.alarm for _, each in attempts),
        "seconds": round(sum(each.seconds for _, each in attempts), 1),
    }


def _fault(row: Row) -> dict[str, Any]:
    return {
        "name": row.fault.name,
        "class": row.fault.klass,
        "runtime": row.fault.runtime,
        "caught": row.oracle is not None,
        "oracle": row.oracle,
        "examples": row.examples,
        "seconds": round(row.seconds, 3),
        "rivals": {
            name: {"caught": each.caught, "seconds": round(each.seconds, 3)} for name, each in row.rivals.items()
        },
    }


def run(chosen: Sequence[Fault], report: Callable[[str], None], *, with_peers: bool) -> dict[str, Any]:
    """The document of the chosen faults; `report` is told what is done."""
    warnings.simplefilter("ignore")  # NumPy warns of NaN in interpreted kernels
    rows = []
    for fault in chosen:
        row = measure(fault)
        rows.append(row)
        report(f"{fault.name}: {row.oracle or 'MISSED'}, {row.examples} examples, {row.seconds:.2f} s")
    seconds = budgets(rows)
    for regime in rival_regimes.REGIMES:
        for row in rows:
            row.rivals[regime.name] = attempt(regime, row.fault, seconds[row.fault.name])
        report(f"{regime.name}: {sum(row.rivals[regime.name].caught for row in rows)} of {len(rows)}")
    reasons = {}
    for peer in peers.PEERS:
        taken = [row for row in rows if peer.cuda or not is_cuda(row.fault)]
        try:
            if not with_peers:
                raise peers.PeerUnavailable("not asked for: --peers")
            attempts = peers.measure(peer, {row.fault.name: seconds[row.fault.name] for row in taken}, report)
        except peers.PeerUnavailable as error:
            reasons[peer.name] = str(error)
            continue
        for row in taken:
            row.rivals[peer.name] = attempts[row.fault.name]
        report(f"{peer.name}: {sum(row.rivals[peer.name].caught for row in taken)} of {len(taken)}")
    return document(rows, reasons)


def main(json_path: str | None = None, *, peers: bool = False) -> None:
    """Measure, print the table, write the page and its plot, and the JSON to `json_path` if given."""
    console = Console(stderr=True)
    data = run(faults(), lambda line: console.print(line, markup=False), with_peers=peers)
    page = detection_page.markdown(data)
    print(page)
    if PAGE.parent.is_dir():
        PAGE.write_text(page, encoding="utf-8")
        if not detection_page.plot(data, PLOT):
            console.print("no plot: matplotlib is not installed")
    if json_path is not None:
        Path(json_path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
