"""How much faster the tests of the shipped kernels run on several devices than on one.

python -m conformance.bench.devices --write docs/gpu-run.md

Each run is `pytest -n WORKERS --conformance-runtime gpu conformance` with the devices that it may see. The first one
compiles, which is work for the cores alone; the others have what it compiled.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import conformance
from conformance import runtime
from conformance.bench import section

COMMAND = "python -m conformance.bench.devices"
SECTION = "devices"
EXAMPLES = 20


@dataclasses.dataclass
class Run:
    """One run of the tests: on how many devices, by how many workers, and what came of it."""

    devices: int
    workers: int
    compiles: bool = False
    seconds: float = 0.0
    examples: int = 0
    summary: str = ""


def plan(devices: int, cores: int) -> list[Run]:
    """The runs: one that compiles, then as many workers as the cores feed, on one device and on all.

    >>> [(run.devices, run.workers, run.compiles) for run in plan(2, 32)]
    [(2, 28, True), (1, 28, False), (2, 28, False)]
    """
    # a few cores are left to the controller and to ptxas
    workers = max(2, cores * 7 // 8)
    return [Run(devices, workers, compiles=True), Run(1, workers), *([Run(devices, workers)] if devices > 1 else [])]


def carry_out(run: Run, cache: str | Path, *, examples: int, results: str | None = None) -> Run:
    """The run, done, with what is compiled in the folder `cache`; `results` gets its results file."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "results.json"
        environment = {
            **os.environ,
            "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(run.devices))),
            "TRITON_CACHE_DIR": f"{cache}/triton",
            "CUPY_CACHE_DIR": f"{cache}/cupy",
            "OMP_NUM_THREADS": "1",
        }
        started = time.perf_counter()
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", "-n", str(run.workers), "--dist", "worksteal",
                "-p", "no:cacheprovider", "-p", "no:benchmark", f"--conformance-runtime={runtime.current()}",
                f"--conformance-examples={examples}", "--conformance-seed=0", f"--conformance-json={path}",
                str(Path(conformance.__file__).parent),
            ],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        run.seconds = time.perf_counter() - started
        lines = [line for line in done.stdout.splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
        run.summary = lines[-1].strip("= ") if lines else f"status {done.returncode}: {done.stderr.strip()[-300:]}"
        if done.returncode:
            print(done.stdout[-4000:], file=sys.stderr)
        if path.exists():
            run.examples = _examples(json.loads(path.read_text(encoding="utf-8")))
            if results is not None:
                shutil.copyfile(path, results)
    return run


def _examples(document: dict[str, Any]) -> int:
    return sum(result["examples"] for report in document["reports"] for result in report["results"])


def page(runs: Sequence[Run], examples: int) -> str:
    """The runs as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in runtime.versions().items())
    head = f"`{COMMAND}`, {os.cpu_count()} cores, {examples} examples for each test id, {versions}."
    lines = [
        head,
        "",
        "| devices | workers | | s | examples | speed-up | pytest says |",
        "|---|---|---|---|---|---|---|",
    ]
    one = next((run for run in runs if run.devices == 1 and not run.compiles), None)
    for run in runs:
        speed = "" if one is None or run.compiles else f"{one.seconds / run.seconds:.2f}"
        what = "compiles first" if run.compiles else "compiled before"
        cells = (run.devices, run.workers, what, f"{run.seconds:.0f}", f"{run.examples:,}", speed, run.summary)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """0 where every run passed, 1 where one did not, 2 without a device."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Run the tests on one device and on all.")
    parser.add_argument("--write", metavar="PAGE", help=f"put the table into the section `{SECTION}` of a page")
    parser.add_argument("--results", metavar="PATH", help="keep the results file of the last run")
    parser.add_argument("--examples", type=int, default=EXAMPLES, metavar="N", help="calls for each test id")
    options = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("devices are compared where there are some, and torch sees no CUDA device", file=sys.stderr)
        return 2
    runs = plan(torch.cuda.device_count(), os.cpu_count() or 1)
    finished: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as cache:
        try:
            for run in runs:
                finished.append(carry_out(run, cache, examples=options.examples, results=options.results))
                print(f"{run.devices} devices, {run.workers} workers: {run.seconds:.0f} s, {run.summary}", flush=True)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
    if finished and options.write is not None:
        section.put(options.write, SECTION, page(finished, options.examples))
    return int(len(finished) < len(runs) or any("passed" not in r.summary or "failed" in r.summary for r in finished))


if __name__ == "__main__":
    sys.exit(main())
