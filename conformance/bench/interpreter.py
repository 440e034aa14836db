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
from typing import Any

# CPU seconds for one number, and repetitions of which the best counts
_SECONDS, _ROUNDS = 0.25, 4
# an id of the suite has 16 examples here (the number that the interpreter's targets were set with)
_EXAMPLES = 16
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

    return {"cases": {case.name: best(case.run) for case in cases()}, "rate": _stock_rate()}


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
    return {"cases": times, "rate": _suite_rate()}


def _suite_rate() -> float:
    """Examples per CPU second of the launch tests of the four seed ops in float32, drawing and judging included."""
    import torch

    import conformance
    import kernels_triton
    from conformance import ops

    def check(examples: int) -> int:
        done = 0
        for name in _OPS:
            report = conformance.check(
                getattr(kernels_triton, name),
                getattr(ops, name),
                examples=examples,
                oracles=["launch"],
                dtypes=[torch.float32],
            )
            if not report.ok:
                raise AssertionError(f"{name}: {report.findings[0].summary}")
            done += sum(result.examples for result in report.results)
        return done

    check(_EXAMPLES)  # imports and first recordings belong to the start of a run, not to its rate
    started = time.process_time()
    return check(_EXAMPLES * 16) / (time.process_time() - started)


def _stock_rate() -> float:
    """The rate of a plain Hypothesis test of the same ops and kernels: draw, build, reference, launch; no judging."""
    import kernels_triton
    from conformance import ops

    started = time.process_time()
    done = sum(_examples(getattr(ops, name), getattr(kernels_triton, name)) for name in _OPS)
    return done / (time.process_time() - started)


def _examples(op: Any, kernel: Callable[..., Any]) -> int:
    """How many examples of a plain Hypothesis test of a kernel ran."""
    import torch
    from hypothesis import HealthCheck, given, settings

    import strategies as kst

    done = 0

    @settings(max_examples=_EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(kst.calls(op.inputs, axes=op.axes, dtype=torch.float32))
    def run(call: kst.Call) -> None:
        nonlocal done
        arguments = call.build().values()
        op.reference(*arguments)
        kernel(*arguments)
        done += 1

    run()
    return done


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


def main(json_path: str | None = None) -> None:
    """Print the table, and write the figures to `json_path` if given."""
    report = measure()
    print(table_of(report))
    if json_path is not None:
        Path(json_path).write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    print(json.dumps({"stock": _stock, "ours": _ours}[sys.argv[1]]()))
