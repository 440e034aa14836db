"""How fast launches are in our interpreter and in Triton's own: `conformance bench interpreter`.

Each regime runs in a process of its own on one thread, since Triton is patched once per process; times are process
CPU time, the best of several, so that other work on the machine changes little.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.bench import identity as identical

if TYPE_CHECKING:
    from conformance.trial import Trial

# CPU seconds for one number, and repetitions of which the best counts
_SECONDS, _ROUNDS = 0.25, 4
# examples of an id of the suite (as in the profile `ci`), and the seeds they are drawn from; both regimes run the same
_EXAMPLES, _SEEDS = 100, (0, 1, 2)
_WARM_UP = 16
_OPS = ("vector_add", "softmax", "rms_norm", "matmul")


def best(run: Callable[[], object]) -> float:
    """Milliseconds of CPU time of one call, the best of several rounds."""
    run()
    started = time.process_time()
    run()
    once = max(time.process_time() - started, 1e-6)
    calls = max(1, int(_SECONDS / _ROUNDS / once))
    rounds = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        for _ in range(calls):
            run()
        rounds.append((time.process_time() - started) / calls)
    return min(rounds) * 1000


def _stock() -> dict[str, Any]:
    """Triton's own interpreter, untraced."""
    from conformance.bench.interpreter_cases import cases

    return {"cases": {case.name: best(case.run) for case in cases()}, "rate": _suite_rate(_plain)}


def _ours() -> dict[str, Any]:
    """Our interpreter, untraced and traced."""
    from conformance.bench.interpreter_cases import Case, cases
    from conformance.interpreter import install
    from conformance.observation import Observation, observe
    from conformance.regions import Arena, Region, Role

    install()

    def traced(case: Case) -> Callable[[], None]:
        last = list(case.tensors)[-1]

        def run() -> None:
            arena = Arena()
            for name, tensor in case.tensors.items():
                arena.add(Region(name, tensor, Role.OUT if name == last else Role.IN, initialized=name != last))
            observation = Observation(arena)
            with observe(observation):
                case.run()
            if observation.events:
                raise AssertionError(f"{case.name}: an event in a correct launch: {observation.events[0]}")

        return run

    times = {case.name: (best(case.run), best(traced(case))) for case in cases()}
    return {"cases": times, "rate": _suite_rate(_conforming)}


def _suite_rate(run: Callable[[Trial, int, int], int]) -> float:
    """Examples per CPU second of `run(trial, examples, seed)` over the four seed ops in float32."""
    import kernels_triton
    from conformance import ops
    from conformance.trial import Trial

    def suite(examples: int, seed: int) -> int:
        trials = [Trial(getattr(ops, name), getattr(kernels_triton, name)) for name in _OPS]
        return sum(run(trial, examples, seed) for trial in trials)

    suite(_WARM_UP, len(_SEEDS))  # imports and first recordings belong to the start of a run, not to its rate
    started = time.process_time()
    done = sum(suite(_EXAMPLES, seed) for seed in _SEEDS)
    return done / (time.process_time() - started)


def _conforming(trial: Trial, examples: int, seed: int) -> int:
    """How many examples the id `float32-launch` judged: drawn, placed, launched, traced, and held to every oracle."""
    import torch

    from conformance import case, lanes

    outcome = case.run(trial, lanes.LANES["launch"], torch.float32, examples=examples, seed=seed)
    if outcome.findings:
        raise AssertionError(f"{trial.name}: {outcome.findings[0].summary}")
    return outcome.result.examples


def _plain(trial: Trial, examples: int, seed: int) -> int:
    """How many examples a plain property test ran: the same calls, built, given to the reference and the kernel."""
    import torch

    from conformance import lanes
    from conformance.explore import explore
    from conformance.launch import invoke

    def run(call: Any) -> list[Any]:
        arguments = call.build()
        invoke(trial.op.reference, trial.op.reference_arguments(call, arguments))
        invoke(trial.kernel, arguments)
        return []

    return explore(lanes.LANES["launch"].draw(trial, torch.float32), run, examples=examples, seed=seed).examples


def _child(regime: str) -> dict[str, Any]:
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "conformance.bench.interpreter", regime]
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


def measure() -> dict[str, Any]:
    """The figures as the JSON file has them."""
    stock, ours = _child("stock"), _child("ours")
    cases = [
        {"name": name, "stock_ms": ms, "untraced_ms": ours["cases"][name][0], "traced_ms": ours["cases"][name][1]}
        for name, ms in stock["cases"].items()
    ]
    suite = {"examples_per_second": ours["rate"], "stock_examples_per_second": stock["rate"]}
    return {"cases": cases, "suite": suite}


def table_of(report: dict[str, Any]) -> str:
    """The figures as a table, with the median ratio and the suite rate."""
    lines = [f"{'case':24} {'stock ms':>9} {'ours ms':>9} {'traced ms':>9} {'stock / traced':>14}"]
    ratios = []
    for case in report["cases"]:
        ratios.append(case["stock_ms"] / case["traced_ms"])
        lines.append(
            f"{case['name']:24} {case['stock_ms']:9.3f} {case['untraced_ms']:9.3f} {case['traced_ms']:9.3f} "
            f"{ratios[-1]:13.1f}x"
        )
    ours, stock = report["suite"]["examples_per_second"], report["suite"]["stock_examples_per_second"]
    lines.append(f"median ratio {statistics.median(ratios):.1f}x, smallest {min(ratios):.1f}x")
    lines.append(f"suite: {ours:.0f} traced examples/s/core, stock untraced {stock:.1f} ({ours / stock:.0f}x)")
    return "\n".join(lines)


def main(json_path: str | None = None, identity: int | None = None) -> None:
    """Print the table, and write the figures to `json_path` if given; with `identity`, compare that many launches."""
    if identity is None:
        report = measure()
        print(table_of(report))
    else:
        report = identical.compare(identity)
        print(identical.sentence(report))
    if json_path is not None:
        Path(json_path).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    print(json.dumps({"stock": _stock, "ours": _ours}[sys.argv[1]]()))
