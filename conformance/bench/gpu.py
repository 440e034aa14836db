"""`python -m conformance bench gpu`: checked examples a second on compiled kernels, and what fence and compiler cost.

An example is drawn, placed, launched and judged by every launch oracle, as `pytest` does it. Workers, spread over all
devices, compile everything before anything is timed; every rate is of the same calls.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from conformance import case, ops, runtime
from conformance.bench import section
from conformance.device import fence, isolation, policy, watch
from conformance.device.policy import Policy
from conformance.lanes import LANES
from conformance.trial import Trial

DTYPES = (torch.float32, torch.float16)
# Calls of each kernel and dtype: a few seconds in all, and the same seed, so that what is timed is compiled.
EXAMPLES = 100
SEED = 0
# Rates of so many workers are tried, as far as there are cores; the best is the result.
WORKERS = (1, 4, 8, 16)
# Passes of which the median tells what the fence costs, each of them after one without it.
ROUNDS = 3
# A worker that has said nothing for so long is stuck; compiling all variants takes about half a minute.
_SECONDS = 240.0
PAGE = Path("docs/gpu-run.md")

MODES = ("fenced", "unfenced", "isolated")


def trials() -> list[tuple[Trial, torch.dtype]]:
    """The kernels that are measured, each in each dtype."""
    from kernels_triton.matmul import matmul
    from kernels_triton.rms_norm import rms_norm
    from kernels_triton.softmax import softmax
    from kernels_triton.vector_add import vector_add

    pairs = ((ops.vector_add, vector_add), (ops.softmax, softmax), (ops.rms_norm, rms_norm), (ops.matmul, matmul))
    return [(Trial(op, kernel), dtype) for dtype in DTYPES for op, kernel in pairs]


@dataclasses.dataclass
class Pass:
    """Examples judged, the seconds that they took, and those of them that went to compiling and to launching."""

    examples: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    launch_seconds: float = 0.0


def run(pairs: Sequence[tuple[Trial, torch.dtype]], examples: int = EXAMPLES) -> Pass:
    """One pass of the lane `launch` over the trials.

    Raises:
        RuntimeError: an oracle objects, so that the rate would be that of something else.
    """
    done, before, started = Pass(), watch.totals().copy(), time.perf_counter()
    for trial, dtype in pairs:
        outcome = case.run(trial, LANES["launch"], dtype, examples=examples, seed=SEED)
        done.examples += outcome.result.examples
        if outcome.findings:
            raise RuntimeError(f"{trial.name} is objected to: {outcome.findings[0].summary}")
    done.seconds = time.perf_counter() - started
    counts = watch.totals().since(before)
    done.compile_seconds, done.launch_seconds = counts.compile_seconds, counts.launch_seconds
    return done


def choose(mode: str) -> None:
    """Fence and isolate as the mode says; "fenced" is how the suite starts. Raises ValueError for no mode."""
    if mode not in MODES:
        raise ValueError(f"{mode!r} is no mode; there are {', '.join(MODES)}")
    policy.select(
        Policy(fence=mode != "unfenced", isolate="always" if mode == "isolated" else "never", hang_seconds=120.0)
    )


def work(number: int, examples: int) -> None:
    """One of several workers: compile, say so, and make a pass in each mode that comes in."""
    choose("fenced")
    pairs = trials()
    first = number % len(pairs)  # workers start at different kernels and share Triton's cache
    pairs = pairs[first:] + pairs[:first]
    isolated = trials()  # a trial that has moved to child processes stays there
    _answer(run(pairs, examples))
    for line in sys.stdin:
        mode = line.strip()
        if mode == "allocate":
            _answer({"microseconds": allocation() * 1e6})
            continue
        choose(mode)
        _answer(run(isolated if mode == "isolated" else pairs, examples))
    isolation.process().close()


def _answer(answer: Pass | dict[str, Any]) -> None:
    print(json.dumps({"answer": dataclasses.asdict(answer) if isinstance(answer, Pass) else answer}), flush=True)


def allocation(count: int = 1000) -> float:
    """The seconds that a fenced tensor costs whose mapping is there already."""
    device = runtime.device()
    allocator = fence.Fence(fence.pool(device), "end")
    allocator(100, torch.float32, device)
    gc.collect()
    started = time.perf_counter()
    for _ in range(count):
        allocator(100, torch.float32, device)
    return (time.perf_counter() - started) / count


class Worker:
    """A process that makes passes on request."""

    def __init__(self, number: int, examples: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "conformance.bench.gpu", str(number), str(examples)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTEST_XDIST_WORKER": f"gw{number}", "OMP_NUM_THREADS": "1"},
        )

    def ask(self, request: str) -> None:
        """Let it begin."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The next answer. Raises RuntimeError where the worker has ended, or says nothing."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + _SECONDS
        for line in self._process.stdout:
            if line.startswith('{"answer"'):
                found: dict[str, Any] = json.loads(line)["answer"]
                return found
            if time.monotonic() > deadline:
                break
        raise RuntimeError(f"a worker ended before it answered (status {self._process.poll()}); its error is above")

    def done(self, request: str) -> Pass:
        """The pass in a mode, waited for."""
        self.ask(request)
        return Pass(**self.answer())

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def workers(count: int, examples: int) -> Iterator[tuple[list[Worker], list[Pass]]]:
    """So many workers that have compiled everything, and the passes in which they did."""
    started = [Worker(number, examples) for number in range(count)]
    try:
        yield started, [Pass(**worker.answer()) for worker in started]
    finally:
        for worker in started:
            worker.end()


def rate(started: Sequence[Worker]) -> float:
    """Examples a second of all these workers at once."""
    before = time.perf_counter()
    for worker in started:
        worker.ask("fenced")
    examples = sum(Pass(**worker.answer()).examples for worker in started)
    found = examples / (time.perf_counter() - before)
    print(f"{len(started)} workers: {found:,.0f} examples/s", file=sys.stderr, flush=True)
    return found


def measure(examples: int = EXAMPLES, counts: Sequence[int] = WORKERS) -> dict[str, Any]:
    """All measurements, as the JSON file holds them.

    `fence_overhead` is time fenced over time unfenced, less one, the median of a few rounds; `compile_seconds` and
    `launch_seconds` are those of one worker: what its first pass compiled, and what its last one launched.
    """
    cores = os.cpu_count() or 1
    tried = [n for n in counts if n <= max(1, cores)]
    with workers(tried[-1], examples) as (started, compiled):
        rates = {n: rate(started[:n]) for n in tried}
        alone = started[0]
        unfenced, fenced = zip(*((alone.done("unfenced"), alone.done("fenced")) for _ in range(ROUNDS)), strict=True)
        alone.done("isolated")  # begins the child process, which loads every kernel
        isolated = alone.done("isolated")
        alone.ask("allocate")
        allocated = alone.answer()["microseconds"]
    best = max(rates, key=lambda n: rates[n])
    last = fenced[-1]
    return {
        "examples_per_second": rates[best],
        "workers": best,
        "fence_overhead": statistics.median(f.seconds / u.seconds for f, u in zip(fenced, unfenced, strict=True)) - 1,
        "compile_seconds": compiled[0].compile_seconds,
        "launch_seconds": last.launch_seconds,
        "examples_per_second_by_workers": {str(n): found for n, found in sorted(rates.items())},
        "examples_per_second_isolated": isolated.examples / isolated.seconds,
        "isolation_milliseconds": (isolated.seconds / isolated.examples - last.seconds / last.examples) * 1e3,
        "allocation_microseconds": allocated,
        "devices": torch.cuda.device_count(),
        "versions": runtime.versions(),
    }


def page(found: dict[str, Any]) -> str:
    """The measurements as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    rows = [
        *((f"examples a second, {n} workers", f"{value:,.0f}") for n, value in _by_workers(found)),
        ("fence, against none", f"{found['fence_overhead']:+.1%}"),
        ("a fenced tensor", f"{found['allocation_microseconds']:.0f} us"),
        ("one worker: compiling, first pass", f"{found['compile_seconds']:.1f} s"),
        ("one worker: launching, a later pass", f"{found['launch_seconds']:.1f} s"),
        ("one worker in child processes, examples a second", f"{found['examples_per_second_isolated']:,.0f}"),
        ("a call in a child process, against in this one", f"{found['isolation_milliseconds']:+.2f} ms"),
    ]
    head = f"`python -m conformance bench gpu`, {found['devices']} device(s), {versions}."
    return "\n".join([head, "", "| what | measured |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


def _by_workers(found: dict[str, Any]) -> list[tuple[str, float]]:
    return list(found["examples_per_second_by_workers"].items())


def main(json_path: str | None = None) -> None:
    """Print the measurements, and write them to `json_path` if given, and to the page of the GPU run where it is.

    Raises:
        RuntimeError: there is no CUDA device.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("the GPU lane is measured on a CUDA device, and torch sees none")
    found = measure()
    print(page(found))
    if json_path is not None:
        Path(json_path).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if PAGE.exists():
        section.put(PAGE, "rates", page(found))


if __name__ == "__main__":
    work(int(sys.argv[1]), int(sys.argv[2]))
