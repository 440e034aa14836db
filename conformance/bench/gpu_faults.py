"""The run behind `docs/gpu-run.md`: every fault of the GPU lane, its fixed twin and the correct kernels, on a device.

Each subject has a process of its own, several at a time. A fault must be found, once for each oracle, and shrunk; a
fixed twin or a correct kernel must pass; nothing else may be lost.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from conformance import case, ops, runtime
from conformance.checking import merge
from conformance.device import isolation, policy
from conformance.device.policy import Policy
from conformance.faults.gpu import GPU_FAULTS
from conformance.lanes import LANES
from conformance.op import Op
from conformance.trial import Trial
from strategies import Call

EXAMPLES = 100
# A hang is noticed after this; the default of 30 s would be most of the run.
HANG_SECONDS = 10.0
# Subjects at a time: each has a few processes, of which one computes; 12 keep 16 cores busy.
AT_ONCE = 12
_SECONDS = 200.0
COMMAND = "python -m conformance.bench.gpu_faults"


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
    """Everything that is run."""
    from kernels_triton.matmul import matmul
    from kernels_triton.rms_norm import rms_norm
    from kernels_triton.softmax import softmax
    from kernels_triton.vector_add import vector_add

    for fault in GPU_FAULTS:
        only = fault.promises.get("dtypes")
        for dtype in (torch.float32,) if only else (torch.float32, torch.float16):
            name = f"{fault.name} {case.dtype_name(dtype)}"
            promises = tuple(fault.promises.items())
            yield Subject(name, fault.op, fault.kernel, dtype, fault.oracles, promises)
            if fault.fixed is not None and dtype is torch.float32:
                yield Subject(f"{name} fixed", fault.op, fault.fixed, dtype, (), promises)
    pairs = ((ops.vector_add, vector_add), (ops.softmax, softmax), (ops.rms_norm, rms_norm), (ops.matmul, matmul))
    for op, kernel in pairs:
        for dtype in (torch.float32, torch.float16):
            yield Subject(f"{op.name} {case.dtype_name(dtype)}", op, kernel, dtype, ())


def judge(subject: Subject, examples: int = EXAMPLES) -> dict[str, Any]:
    """What the lane `launch` finds of a subject, as JSON values."""
    trial = Trial(subject.op, subject.kernel, merge(subject.op.promises, dict(subject.promises)))
    started = time.perf_counter()
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
        "processes": isolation.process().replaced + 1,
    }


def verdict(subject: Subject, record: dict[str, Any]) -> str:
    """`ok`, or what is wrong with the record of a subject."""
    if "error" in record:
        return f"LOST: {record['error']}"
    found = set(record["found"])
    if subject.expected:
        return "ok" if found & set(subject.expected) else f"MISSED, found {', '.join(sorted(found)) or 'nothing'}"
    return "ok" if not found else f"FALSE ALARM: {', '.join(sorted(found))}"


def _in_a_process(index: int, subject: Subject, examples: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "conformance.bench.gpu_faults", str(index), str(examples)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTEST_XDIST_WORKER": f"gw{index}"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False, env=environment
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"name": subject.name, "error": f"not done after {_SECONDS:g} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"name"')]
    if not lines:
        return {"name": subject.name, "error": f"status {done.returncode}: {done.stderr.strip()[-1500:]}"}
    record: dict[str, Any] = json.loads(lines[-1])
    return record


def table(chosen: Sequence[Subject], records: Sequence[dict[str, Any]]) -> list[str]:
    """The records as the lines of a Markdown table."""
    lines = [
        "| subject | verdict | found | smallest call | examples | processes | s |",
        "|---|---|---|---|---|---|---|",
    ]
    for subject, record in zip(chosen, records, strict=True):
        found = record.get("found", {})
        what = "; ".join(f"{oracle}: {entry['summary'][:160]}" for oracle, entry in found.items()).replace("|", "\\|")
        smallest = str(next(iter(found.values()))["shapes"]) if found else ""
        numbers = (record.get("examples", ""), record.get("processes", ""), record.get("seconds", ""))
        cells = (subject.name, verdict(subject, record), what, smallest, *map(str, numbers))
        lines.append(f"| {' | '.join(cells)} |".replace("\n", " "))
    return lines


def main(output_path: str | None = None, *, examples: int = EXAMPLES) -> int:
    """The number of subjects that are not as they must be; prints the table, and writes the page to `output_path`."""
    chosen = list(subjects())
    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        records = list(pool.map(lambda item: _in_a_process(item[0], item[1], examples), enumerate(chosen)))
    wrong = sum(verdict(s, r) != "ok" for s, r in zip(chosen, records, strict=True))
    versions = ", ".join(f"{name} {version}" for name, version in runtime.versions().items())
    page = [
        "# A run of the GPU lane",
        "",
        f"`{COMMAND}`, {versions}: {len(chosen)} subjects, {examples} examples each, {wrong} not as they must be, "
        f"{time.perf_counter() - started:.0f} s.",
        "",
        *table(chosen, records),
        "",
    ]
    print("\n".join(page))
    if output_path is not None:
        Path(output_path).write_text("\n".join(page), encoding="utf-8")
    return wrong


if __name__ == "__main__":
    if len(sys.argv) == 3:
        policy.select(Policy(isolate="always", hang_seconds=HANG_SECONDS))
        print(json.dumps(judge(list(subjects())[int(sys.argv[1])], int(sys.argv[2]))), flush=True)
        isolation.process().close()
    else:
        sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else None) != 0)
