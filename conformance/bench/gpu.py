"""`python -m conformance bench gpu`: checked examples a second on compiled kernels, and what fence and compiler cost.

An example is drawn, placed, launched in a child process and judged by every launch oracle. Kernels are compiled before
anything is timed; every rate is of the same calls.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch

from conformance import case, ops, runtime
from conformance.device import isolation, policy, watch
from conformance.device.policy import Policy
from conformance.lanes import LANES
from conformance.trial import Trial

DTYPES = (torch.float32, torch.float16)
# Calls of each kernel and dtype: a few seconds in all, and the same seed, so that what is timed is compiled.
EXAMPLES = 150
SEED = 0
# Rates of so many workers are tried, as far as there are cores; the best is the result.
WORKERS = (1, 4, 8, 16)
# A worker that has said nothing for so long is stuck; compiling all variants of a kernel takes about half a minute.
_SECONDS = 240.0


def trials() -> list[tuple[Trial, torch.dtype]]:
    """The kernels that are measured, each in each dtype."""
    from kernels_triton.matmul import matmul
    from kernels_triton.rms_norm import rms_norm
    from kernels_triton.softmax import softmax
    from kernels_triton.vector_add import vector_add

    pairs = ((ops.vector_add, vector_add), (ops.softmax, softmax), (ops.rms_norm, rms_norm), (ops.matmul, matmul))
    return [(Trial(op, kernel), dtype) for dtype in DTYPES for op, kernel in pairs]


@dataclasses.dataclass
class Rate:
    """Examples judged, and the seconds that they took."""

    examples: int = 0
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        """Examples a second."""
        return self.examples / self.seconds if self.seconds else 0.0


def run(pairs: Sequence[tuple[Trial, torch.dtype]], examples: int = EXAMPLES) -> Rate:
    """The rate of the lane `launch` over the trials.

    Raises:
        RuntimeError: an oracle objects, so that the rate would be that of something else.
    """
    rate = Rate()
    for trial, dtype in pairs:
        started = time.perf_counter()
        outcome = case.run(trial, LANES["launch"], dtype, examples=examples, seed=SEED)
        rate.seconds += time.perf_counter() - started
        rate.examples += outcome.result.examples
        if outcome.findings:
            raise RuntimeError(f"{trial.name} is objected to: {outcome.findings[0].summary}")
    return rate


Mode = Literal["fenced", "unfenced", "in process"]


def choose(mode: Mode) -> None:
    """Fence and isolate as the mode says."""
    isolate: policy.Isolate = "never" if mode == "in process" else "always"
    policy.select(Policy(fence=mode != "unfenced", isolate=isolate, hang_seconds=120.0))


def warm_rate(mode: Mode, examples: int = EXAMPLES) -> tuple[Rate, watch.Counts]:
    """The rate in this process and its child once everything is compiled, and what compiling and launching took."""
    choose(mode)
    pairs = trials()
    before = watch.totals().copy()
    run(pairs, examples)
    rate = run(pairs, examples)
    return rate, watch.totals().since(before)


def worker(number: int, examples: int) -> None:
    """One of several workers: compile a share, say so, wait for the signal, measure, print the rate as JSON."""
    choose("fenced")
    pairs = trials()
    started = number % len(pairs)
    before = watch.totals().copy()
    run(pairs[started:] + pairs[:started], examples)  # workers start at different kernels and share Triton's cache
    counts = watch.totals().since(before)
    print("ready", flush=True)
    sys.stdin.readline()
    rate = run(pairs[started:] + pairs[:started], examples)
    print(json.dumps({**dataclasses.asdict(rate), "compile_seconds": counts.compile_seconds}), flush=True)
    isolation.process().close()


def parallel_rate(count: int, examples: int = EXAMPLES) -> tuple[Rate, float]:
    """The rate of `count` workers at once, spread over all devices, and the seconds that they compiled in all."""
    processes = [_start(number, examples) for number in range(count)]
    try:
        for process in processes:
            _expect(process, "ready")
        started = time.perf_counter()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        records = [json.loads(_expect(process, "{")) for process in processes]
        elapsed = time.perf_counter() - started
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return Rate(sum(r["examples"] for r in records), elapsed), sum(r["compile_seconds"] for r in records)


def _start(number: int, examples: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "conformance.bench.gpu", str(number), str(examples)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTEST_XDIST_WORKER": f"gw{number}", "OMP_NUM_THREADS": "1"},
    )


def _expect(process: subprocess.Popen[str], start: str) -> str:
    assert process.stdout is not None
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        if line.startswith(start):
            return line
        if not line:
            break
    raise RuntimeError(f"a worker ended before it wrote {start!r} (status {process.poll()}); its error is above")


def measure(examples: int = EXAMPLES, counts: Sequence[int] = WORKERS) -> dict[str, Any]:
    """All measurements, as the JSON file holds them.

    `fence_overhead` is time fenced over time unfenced, less one; `compile_seconds` and `launch_seconds` are those of
    one worker in two passes over all calls, the first of which compiles.
    """
    cores = os.cpu_count() or 1
    tried = [n for n in counts if n <= max(1, cores)]
    first, compiled = parallel_rate(tried[-1], examples)  # compiles on all cores, for everything after it
    rates = {n: parallel_rate(n, examples)[0] for n in tried[:-1]}
    rates[tried[-1]] = first
    fenced, times = warm_rate("fenced", examples)
    unfenced, _ = warm_rate("unfenced", examples)
    in_process, _ = warm_rate("in process", examples)
    isolation.process().close()
    best = max(rates, key=lambda n: rates[n].per_second)
    return {
        "examples_per_second": rates[best].per_second,
        "workers": best,
        "fence_overhead": fenced.seconds / unfenced.seconds - 1.0,
        "compile_seconds": compiled + times.compile_seconds,
        "launch_seconds": times.launch_seconds,
        "launches": times.launches,
        "examples_per_second_by_workers": {str(n): rate.per_second for n, rate in sorted(rates.items())},
        "examples_per_second_in_process": in_process.per_second,
        "examples_per_second_unfenced": unfenced.per_second,
        "devices": torch.cuda.device_count(),
        "versions": runtime.versions(),
    }


def main(json_path: str | None = None) -> None:
    """Print the measurements, and write them to `json_path` if given.

    Raises:
        RuntimeError: there is no CUDA device.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("the GPU lane is measured on a CUDA device, and torch sees none")
    found = measure()
    for name, value in found.items():
        print(f"{name:<32} {value:.3f}" if isinstance(value, float) else f"{name:<32} {value}")
    if json_path is not None:
        Path(json_path).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    worker(int(sys.argv[1]), int(sys.argv[2]))
