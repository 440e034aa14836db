"""`python -m conformance bench detection`: who finds which fault, after how long; the suite and rival regimes.

The suite runs each fault of `conformance.faults` with its defaults. The rivals run the same faults, and count as having
caught one only where they pass its repaired twin: an alarm on both tells nobody anything.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rich.console import Console

from conformance import check
from conformance.bench import rival_regimes
from conformance.faults import FAULTS, Fault
from conformance.faults.catching import Caught, Missed, catch, trial_of

COMMAND = "python -m conformance bench detection"
PAGE = Path("docs/detection.md")
PLOT = Path("docs/detection.svg")
SUITE = "this suite"
# A kernel that is wrong may hang or end its process, which only a rival that runs it unguarded notices this way.
_SECONDS = 240.0
_TWIN_EXAMPLES = 5
PEERS = ("gpucheck", "tilelens", "ttsem")


@dataclasses.dataclass
class Row:
    """A fault, and what became of it: by the suite, and for each rival regime whether it objects and to the twin."""

    fault: Fault
    outcome: Caught | Missed
    alarm: bool
    twin_seconds: float
    rivals: dict[str, tuple[bool, bool, float]]


def faults() -> tuple[Fault, ...]:
    """Those that can show where kernels are interpreted."""
    return tuple(fault for fault in FAULTS if fault.runtime != "gpu")


def measure(chosen: Sequence[Fault], report: Callable[[str], None], *, rivals: bool = True) -> list[Row]:
    """A row for each fault; `report` is told each as it is done."""
    warnings.simplefilter("ignore")  # NumPy warns of NaN in interpreted kernels
    rows = []
    for fault in chosen:
        outcome = catch(fault)
        started = time.process_time()
        passed = (
            fault.fixed is None
            or check(fault.fixed, fault.op, examples=_TWIN_EXAMPLES, stop_at_first=True, **fault.promises).ok
        )
        twin_seconds = time.process_time() - started
        regimes = {}
        for regime in rival_regimes.REGIMES if rivals else ():
            started = time.perf_counter()
            wrong = _apart(regime, fault, fixed=False)
            seconds = time.perf_counter() - started
            alarm = wrong and fault.fixed is not None and _apart(regime, fault, fixed=True)
            regimes[regime.name] = (wrong, alarm, seconds)
        rows.append(Row(fault, outcome, not passed, twin_seconds, regimes))
        by = outcome.oracle if isinstance(outcome, Caught) else "MISSED"
        by_rivals = sum(wrong and not alarm for wrong, alarm, _ in regimes.values())
        report(f"{fault.name}: {by}, {outcome.examples} examples, {outcome.seconds:.2f} s; rivals {by_rivals}")
    return rows


def _apart(regime: rival_regimes.Regime, fault: Fault, *, fixed: bool) -> bool:
    """Whether the regime objects, in a process of its own: a crash and a hang are objections too."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_objects, args=(sending, regime, fault, fixed))
    process.start()
    sending.close()
    answer = True
    if receiving.poll(_SECONDS):
        with contextlib.suppress(EOFError):  # the process ended without an answer
            answer = bool(receiving.recv())
    process.join(1.0)
    if process.exitcode == 1:
        raise RuntimeError(f"{regime.name} does not run on {fault.name}: see the traceback of the process above")
    process.kill()
    process.join()
    receiving.close()
    return answer


def _objects(sending: Connection, regime: rival_regimes.Regime, fault: Fault, fixed: bool) -> None:
    trial = trial_of(fault, fixed=fixed)
    sending.send(rival_regimes.objects(regime, fault.op, trial.kernel, trial.promises))
    sending.close()
    os._exit(0)


def document(rows: Sequence[Row], peers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The JSON: faults with who caught them, and the regimes; a peer that did not run has null and the reason."""
    regimes: dict[str, dict[str, Any]] = {
        SUITE: {
            "caught": sum(isinstance(row.outcome, Caught) for row in rows),
            "applicable": len(rows),
            "false_alarms": sum(row.alarm for row in rows),
            "seconds": round(sum(row.outcome.seconds for row in rows), 1),
        }
    }
    for name in rows[0].rivals if rows else ():
        each = [row.rivals[name] for row in rows]
        regimes[name] = {
            "caught": sum(wrong and not alarm for wrong, alarm, _ in each),
            "applicable": len(rows),
            "false_alarms": sum(alarm for _, alarm, _ in each),
            "seconds": round(sum(seconds for _, _, seconds in each), 1),
        }
    return {"faults": [_fault(row) for row in rows], "regimes": {**regimes, **peers}}


def _fault(row: Row) -> dict[str, Any]:
    caught = row.outcome if isinstance(row.outcome, Caught) else None
    return {
        "name": row.fault.name,
        "class": row.fault.klass,
        "runtime": row.fault.runtime,
        "caught": caught is not None,
        "oracle": caught.oracle if caught else None,
        "test": caught.id if caught else None,
        "examples": row.outcome.examples,
        "seconds": round(row.outcome.seconds, 3),
        "rivals": {name: wrong and not alarm for name, (wrong, alarm, _) in row.rivals.items()},
    }


def peers_of(wanted: bool) -> dict[str, dict[str, Any]]:
    """What is known of the published tools here: they are measured where they are installed beside the suite."""
    found: dict[str, dict[str, Any]] = {}
    for name in PEERS:
        reason = "not asked for: --peers"
        if wanted:
            there = importlib.util.find_spec(name) is not None
            reason = "it has no entry point that takes any op and kernel" if there else "not installed"
        found[name] = {"caught": None, "applicable": None, "false_alarms": None, "seconds": None, "reason": reason}
    return found


def markdown(data: dict[str, Any]) -> str:
    """The page: the regimes, then each fault."""
    names = [name for name, regime in data["regimes"].items() if regime["caught"] is not None]
    lines = [
        "# Detection",
        "",
        f"Made by `{COMMAND}`. Each fault is a kernel of `conformance/faults/`; the suite",
        "runs it with its defaults (100 examples for each test id, seed 0) until an oracle that it names objects.",
        "A rival has caught a fault where its test fails on the faulty kernel and passes on the repaired one; a false",
        "alarm is a failure of both. The seconds are those of one process on a CPU, to the first failure.",
        "",
        "![Faults caught by each way to test](detection.svg)",
        "",
        "| way to test | caught | of | false alarms | seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    for name in names:
        r = data["regimes"][name]
        lines.append(f"| {name} | {r['caught']} | {r['applicable']} | {r['false_alarms']} | {r['seconds']} |")
    unmeasured = [f"{name} ({r['reason']})" for name, r in data["regimes"].items() if r["caught"] is None]
    if unmeasured:
        lines += ["", f"Not measured: {', '.join(unmeasured)}."]
    rivals = names[1:]
    lines += [
        "",
        "## Faults",
        "",
        "| fault | class | oracle | examples | seconds | " + " | ".join(rivals) + " |",
        "|---|---|---|---:|---:|" + "---|" * len(rivals),
    ]
    for each in data["faults"]:
        marks = " | ".join("caught" if each["rivals"].get(name) else "" for name in rivals)
        oracle = each["oracle"] or "missed"
        lines.append(
            f"| {each['name']} | {each['class']} | {oracle} | {each['examples']} | {each['seconds']:.2f} | {marks} |"
        )
    return "\n".join(lines) + "\n"


def plot(data: dict[str, Any], path: Path) -> bool:
    """Draw the bars of the regimes; False where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    os.environ.setdefault("MPLBACKEND", "svg")
    from matplotlib import pyplot  # optional: only this page has a plot

    regimes = {name: r for name, r in data["regimes"].items() if r["caught"] is not None}
    names = list(regimes)[::-1]
    figure, axes = pyplot.subplots(figsize=(8, 0.6 * len(names) + 1))
    bars = axes.barh(names, [regimes[name]["caught"] for name in names], color="#4878a8")
    axes.bar_label(bars, [f"{regimes[name]['caught']}" for name in names], padding=3)
    axes.set_xlim(0, 1.05 * max(r["applicable"] for r in regimes.values()))
    axes.set_xlabel(f"faults caught, of {max(r['applicable'] for r in regimes.values())}")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def main(json_path: str | None = None, *, peers: bool = False) -> None:
    """Measure, print the table, write the page and its plot, and the JSON to `json_path` if given."""
    console = Console(stderr=True)
    rows = measure(faults(), lambda line: console.print(line, markup=False))
    data = document(rows, peers_of(peers))
    print(markdown(data))
    if PAGE.parent.is_dir():
        PAGE.write_text(markdown(data), encoding="utf-8")
        if not plot(data, PLOT):
            console.print("no plot: matplotlib is not installed")
    if json_path is not None:
        Path(json_path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
