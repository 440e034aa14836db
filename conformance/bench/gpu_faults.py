"""Every fault of the GPU lane, its fixed twin and the correct kernels, on a device: nothing may be lost.

python -m conformance.bench.gpu_faults --json faults.json --write docs/gpu-run.md

A fault must be found by its oracles alone, and shrunk; a fixed twin or a correct kernel must pass. Subjects are judged
in a few processes at once; each is printed as soon as it is done, and an interrupt keeps what was found until then.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from conformance import case, ops, runtime
from conformance.bench import section
from conformance.checking import merge
from conformance.device import isolation, policy
from conformance.device.policy import Policy
from conformance.faults.gpu import GPU_FAULTS
from conformance.lanes import LANES
from conformance.op import Op
from conformance.trial import Trial
from strategies import Call

EXAMPLES = 100
# A hang is noticed after this; the default of 30 s would be most of the run. With contexts being lost all around, the
# driver keeps a call that faults waiting for several seconds.
HANG_SECONDS = 10.0
# A subject that has said nothing for so long is lost: the slowest shrinks two kinds for 20 s each.
SECONDS = 150.0
COMMAND = "python -m conformance.bench.gpu_faults"
SECTION = "faults"


@dataclasses.dataclass(frozen=True)
class Subject:
    """A kernel to judge: `expected` are the oracles of which one must object, none where none may."""

    name: str
    op: Op
    kernel: Callable[..., Any]
    dtype: torch.dtype
    expected: tuple[str, ...]
    promises: tuple[tuple[str, Any], ...] = ()


def subjects() -> Iterator[Subject]:
    """Everything that is run; the faults come first, since they take longest."""
    from kernels_triton.matmul import matmul
    from kernels_triton.rms_norm import rms_norm
    from kernels_triton.softmax import softmax
    from kernels_triton.vector_add import vector_add

    slowest_first = sorted(GPU_FAULTS, key=lambda fault: fault.name != "gpu_infinite_loop")
    for fault in slowest_first:
        for dtype in _dtypes(fault.promises):
            name = f"{fault.name} {case.dtype_name(dtype)}"
            yield Subject(name, fault.op, fault.kernel, dtype, fault.oracles, tuple(fault.promises.items()))
    for fault in slowest_first:
        if fault.fixed is not None:
            name = f"{fault.name} {case.dtype_name(torch.float32)} fixed"
            yield Subject(name, fault.op, fault.fixed, torch.float32, (), tuple(fault.promises.items()))
    pairs = ((ops.vector_add, vector_add), (ops.softmax, softmax), (ops.rms_norm, rms_norm), (ops.matmul, matmul))
    for op, kernel in pairs:
        for dtype in (torch.float32, torch.float16):
            yield Subject(f"{op.name} {case.dtype_name(dtype)}", op, kernel, dtype, ())


def _dtypes(promises: Any) -> tuple[torch.dtype, ...]:
    return (torch.float32,) if promises.get("dtypes") else (torch.float32, torch.float16)


def judge(subject: Subject, examples: int = EXAMPLES) -> dict[str, Any]:
    """What the lane `launch` finds of a subject, as JSON values."""
    trial = Trial(subject.op, subject.kernel, merge(subject.op.promises, dict(subject.promises)))
    before, started = isolation.process().replaced, time.perf_counter()
    outcome = case.run(trial, LANES["launch"], subject.dtype, examples=examples, seed=0)
    found = {}
    for finding in outcome.findings:
        shapes = [list(t.shape) for t in Call.from_json(finding.call).tensors.values()]
        found[finding.oracle] = {"summary": finding.summary, "shapes": shapes, "notes": list(finding.notes[-4:])}
    return {
        "name": subject.name,
        "found": found,
        "examples": outcome.result.examples,
        "seconds": round(time.perf_counter() - started, 1),
        "processes": isolation.process().replaced - before + 1,
    }


def verdict(subject: Subject, record: dict[str, Any]) -> str:
    """`ok`, or what is wrong with the record of a subject."""
    if "error" in record:
        return f"LOST: {record['error']}"
    found, expected = set(record["found"]), set(subject.expected)
    if expected and not found & expected:
        return f"MISSED, found {', '.join(sorted(found)) or 'nothing'}"
    return "ok" if found <= expected else f"FALSE ALARM: {', '.join(sorted(found - expected))}"


class Jury:
    """A process that judges subjects one after another, and is replaced where one ends it or takes too long."""

    def __init__(self, number: int, examples: int = EXAMPLES) -> None:
        self._number = number
        self._examples = examples
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def judge(self, index: int, subject: Subject, seconds: float = SECONDS) -> dict[str, Any]:
        """The record of the subject of that number; an `error` in it says why there is none."""
        if self._process is None:
            self._process = self._start()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        other: list[str] = []
        try:
            process.stdin.write(f"{index}\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.startswith('{"name"'):
                    record: dict[str, Any] = json.loads(line)
                    return record
                other.append(line)
        except BrokenPipeError:
            other.append("the process had ended before")
        finally:
            timer.cancel()
        status = process.wait()
        late = not timer.is_alive() and status < 0
        self._process = None
        reason = f"not done after {seconds:g} s" if late else f"status {status}: {''.join(other).strip()[-1500:]}"
        return {"name": subject.name, "error": "interrupted" if self._closed else reason}

    def close(self) -> None:
        """End the process, also while it judges."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "conformance.bench.gpu_faults", "--serve", "--examples", str(self._examples)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is for the command alone, which keeps what is done
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTEST_XDIST_WORKER": f"gw{self._number}"},
        )


def serve(examples: int) -> None:
    """Judge the subjects whose numbers come in, until there are no more."""
    policy.select(Policy(isolate="always", hang_seconds=HANG_SECONDS))
    chosen = list(subjects())
    for line in sys.stdin:
        subject = chosen[int(line)]
        try:
            record = judge(subject, examples)
        except Exception as error:  # noqa: BLE001 - the record says it, and the next subject is judged
            record = {"name": subject.name, "error": f"{error!r}: {traceback.format_exc()[-1000:]}"}
        print(json.dumps(record), flush=True)
    isolation.process().close()


HEADER = ("| subject | verdict | found | smallest call | examples | processes | s |", "|---|---|---|---|---|---|---|")


def row(subject: Subject, record: dict[str, Any]) -> str:
    """The record as a row of the table."""
    found = record.get("found", {})
    what = "; ".join(f"{oracle}: {entry['summary'][:160]}" for oracle, entry in found.items()).replace("|", "\\|")
    smallest = str(next(iter(found.values()))["shapes"]) if found else ""
    numbers = (record.get("examples", ""), record.get("processes", ""), record.get("seconds", ""))
    cells = (subject.name, verdict(subject, record), what, smallest, *map(str, numbers))
    return f"| {' | '.join(cells)} |".replace("\n", " ")


def at_once() -> int:
    """How many processes judge at a time: more wait for the driver, which makes and loses contexts one by one."""
    return max(2, min(8, (os.cpu_count() or 1) // 2))


def run(chosen: Sequence[Subject], records: dict[int, dict[str, Any]], *, examples: int) -> bool:
    """Whether all subjects were judged before an interrupt; `records` gets each as soon as it is done."""
    juries = [Jury(number, examples) for number in range(min(at_once(), len(chosen)))]
    idle: queue.SimpleQueue[Jury] = queue.SimpleQueue()
    for jury in juries:
        idle.put(jury)

    def one(index: int) -> dict[str, Any]:
        jury = idle.get()
        try:
            return jury.judge(index, chosen[index])
        finally:
            idle.put(jury)

    pool = concurrent.futures.ThreadPoolExecutor(len(juries))
    waiting = {pool.submit(one, index): index for index in range(len(chosen))}
    try:
        for done in concurrent.futures.as_completed(waiting):
            index = waiting[done]
            records[index] = done.result()
            print(row(chosen[index], records[index]), flush=True)
    except KeyboardInterrupt:
        return False
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for jury in juries:
            jury.close()
    return True


def page(chosen: Sequence[Subject], records: dict[int, dict[str, Any]], *, examples: int, seconds: float) -> str:
    """The table with a first line that says how many are not as they must be, as Markdown."""
    wrong = sum(verdict(chosen[index], record) != "ok" for index, record in records.items())
    versions = ", ".join(f"{name} {version}" for name, version in runtime.versions().items())
    left = len(chosen) - len(records)
    unfinished = f" {left} subjects were not judged: it was interrupted." if left else ""
    return "\n".join(
        [
            f"`{COMMAND}`, {versions}: {len(records)} subjects, {examples} examples each, **{wrong} not as they must "
            f"be**, {seconds:.0f} s.{unfinished}",
            "",
            *HEADER,
            *(row(chosen[index], records[index]) for index in sorted(records)),
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """0 where every subject is as it must be, 1 where one is not, 130 after an interrupt."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Judge every fault of the GPU lane on a device.")
    parser.add_argument("--json", metavar="PATH", help="write the records")
    parser.add_argument("--write", metavar="PAGE", help=f"put the table into the section `{SECTION}` of a page")
    parser.add_argument("--examples", type=int, default=EXAMPLES, metavar="N", help="calls for each subject")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)  # the part of a child process
    options = parser.parse_args(argv)
    if options.serve:
        serve(options.examples)
        return 0
    chosen = list(subjects())
    records: dict[int, dict[str, Any]] = {}
    started = time.perf_counter()
    print("\n".join(HEADER), flush=True)
    whole = run(chosen, records, examples=options.examples)
    text = page(chosen, records, examples=options.examples, seconds=time.perf_counter() - started)
    print(text.partition("\n")[0])
    if options.json is not None:
        found = [records[index] | {"verdict": verdict(chosen[index], records[index])} for index in sorted(records)]
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.write is not None:
        section.put(options.write, SECTION, text)
    if not whole:
        return 130
    return int(any(verdict(chosen[index], record) != "ok" for index, record in records.items()))


if __name__ == "__main__":
    sys.exit(main())
