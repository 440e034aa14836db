"""Milliseconds a launch: CUDA sources in the emulator against the same operations in the Triton interpreter.

python -m conformance.bench.emulator --json emulator.json
python -m conformance.bench.emulator --corpus tests/emulator/corpus --write docs/cuda.md
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import gc
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from conformance.bench.corpus import SCHEDULES, Program, Variant, programs, variants
from conformance.emulator import Backend
from conformance.observation import Observation, observe
from conformance.regions import Arena, Region, Role

REPEATS = 9  # the fastest counts: the machine's other work only ever adds time
MARKERS = ("<!-- corpus: begin -->", "<!-- corpus: end -->")

Operation = Callable[..., torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Case:
    """An operation on arguments of one shape, named as kernels of both languages are."""

    name: str
    operation: str
    shapes: tuple[tuple[int, ...], ...]

    def arguments(self) -> list[torch.Tensor]:
        """Seeded float32 arguments."""
        generator = torch.Generator().manual_seed(0)
        return [torch.randn(shape, generator=generator) for shape in self.shapes]


CASES = (
    Case("softmax 3x50", "softmax", ((3, 50),)),
    Case("softmax 123x781", "softmax", ((123, 781),)),
    Case("rms_norm 64x1000", "rms_norm", ((64, 1000), (1000,))),
    Case("vector_add 98765", "vector_add", ((98765,), (98765,))),
    Case("matmul 256x256x256", "matmul", ((256, 256), (256, 256))),
)


def main(json_path: str | None = None) -> None:
    """Print the times, and write them to `json_path` if given."""
    _times(json_path)


def _command(argv: Sequence[str] | None = None) -> None:
    """Measure and print; see the module's first lines."""
    parser = argparse.ArgumentParser(prog="conformance bench emulator", description="Time CUDA sources on the CPU.")
    parser.add_argument("--json", metavar="PATH", help="write the figures as JSON")
    parser.add_argument(
        "--corpus", metavar="DIR", type=pathlib.Path, help="recall and false alarms on a folder of programs instead"
    )
    parser.add_argument("--write", metavar="PAGE", type=pathlib.Path, help="put the corpus table into a page")
    parser.add_argument("--interpreter", choices=("stock", "ours"), help=argparse.SUPPRESS)  # the child process's part
    options = parser.parse_args(argv)
    if options.interpreter:
        print(json.dumps(_interpreter_times(stock=options.interpreter == "stock")))
    elif options.corpus:
        _corpus(options.corpus, options.write, options.json)
    else:
        _times(options.json)


def _times(path: str | None) -> None:
    columns = {
        "stock_interpreter_ms": _child("stock"),
        "interpreter_ms": _child("ours"),
        "checked_ms": _emulator_times(checked=True),
        "fast_ms": _emulator_times(checked=False),
    }
    cases = [{"name": c.name, **{k: v.get(c.name) for k, v in columns.items()}} for c in CASES]
    print(f"{'ms a launch':<22}{'stock interpreter':>19}{'our interpreter':>17}{'emulator, checked':>19}{'fast':>9}")
    for case in cases:
        cells = [case[k] for k in columns]
        print(f"{case['name']:<22}" + "".join(f"{_cell(v):>{w}}" for v, w in zip(cells, (19, 17, 19, 9), strict=True)))
    if path:
        pathlib.Path(path).write_text(json.dumps({"cases": cases}, indent=2) + "\n", encoding="utf-8")


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "not measured"


def _best(run: Callable[[], object], seconds: float = 3.0) -> float:
    """Milliseconds of CPU time of the fastest of a few runs."""
    times: list[float] = []
    start = time.perf_counter()
    gc.disable()
    try:
        while len(times) < REPEATS and (len(times) < 2 or time.perf_counter() - start < seconds):
            before = time.process_time()
            run()
            times.append((time.process_time() - before) * 1e3)
    finally:
        gc.enable()
    return min(times)


def _emulator_times(*, checked: bool) -> dict[str, float | None]:
    """The times of the CUDA kernels, None where the kernel is not part of this installation."""
    try:
        launcher = importlib.import_module("kernels_cuda.launcher")
    except ModuleNotFoundError:
        return {}
    found: dict[str, float | None] = {}
    before = launcher.set_backend(Backend("never"))
    try:
        for case in CASES:
            kernel = _kernel("kernels_cuda", case.operation)
            args = case.arguments()
            found[case.name] = None if kernel is None else _best(functools.partial(_once, kernel, args, trace=checked))
    finally:
        launcher.set_backend(before)
    return found


def _once(kernel: Operation, args: list[torch.Tensor], *, trace: bool) -> torch.Tensor:
    """The result of one launch, observed as the suite observes it."""
    arena = Arena()
    for i, tensor in enumerate(args):
        arena.add(Region(f"argument {i}", tensor, Role.IN, initialized=True))
    with observe(Observation(arena, trace=trace)) as seen:
        result = kernel(*args)
    if seen.events:
        raise AssertionError(f"a kernel of this suite has an event: {seen.events[0]}")
    return result


def _interpreter_times(*, stock: bool) -> dict[str, float | None]:
    try:
        interpreter = importlib.import_module("conformance.interpreter")
    except ModuleNotFoundError:
        return {}
    found: dict[str, float | None] = {}
    for case in CASES:
        kernel = _kernel("kernels_triton", case.operation)
        if kernel is not None and not found and not stock:
            interpreter.install()
        args = case.arguments()
        found[case.name] = None if kernel is None else _best(functools.partial(_once, kernel, args, trace=not stock))
    return found


def _kernel(package: str, operation: str) -> Operation | None:
    try:
        kernel: Operation = getattr(importlib.import_module(f"{package}.{operation}"), operation)
    except (ModuleNotFoundError, AttributeError):
        return None
    return kernel


def _child(which: str) -> dict[str, Any]:
    """The interpreter's times, measured in a process of their own: Triton decides at import who runs a kernel."""
    command = [sys.executable, "-m", "conformance.bench.emulator", "--interpreter", which]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "TRITON_INTERPRET": "1"}, check=False
    )
    if done.returncode:
        print(f"the {which} interpreter was not measured: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    times: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return times


def _corpus(folder: pathlib.Path, page: pathlib.Path | None, path: str | None) -> None:
    backend = Backend(seconds=5.0)
    alarms = launches = 0
    missed: list[str] = []
    rows: list[tuple[str, int, int, int, int]] = []
    for program in programs(folder):
        right = [program.run(backend, program.text, order, seed)[0] for order, seed in SCHEDULES]
        alarms += sum(map(len, right))
        launches += len(right)
        caught, racy, equivalent, first = 0, 0, 0, 0
        for variant in variants(program):
            seen = [bool(program.run(backend, variant.mutant.text, order, seed)[0]) for order, seed in SCHEDULES]
            if variant.reason is not None:
                equivalent += 1
                alarms += sum(seen)
                continue
            racy += 1
            caught += any(seen)
            first += seen[0]
            if not any(seen):
                missed.append(_name(program, variant))
        rows.append((program.name, racy, caught, first, equivalent))
    total = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    table = _table(rows, total, alarms, launches, missed)
    print(table)
    if path:
        figures = {
            "programs": len(rows),
            "variants": total[0],
            "caught": total[1],
            "first_schedule": total[2],
            "false_alarms": alarms,
        }
        pathlib.Path(path).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if page:
        text = page.read_text(encoding="utf-8")
        before, rest = text.split(MARKERS[0])
        page.write_text(f"{before}{MARKERS[0]}\n{table}\n{MARKERS[1]}{rest.split(MARKERS[1])[1]}", encoding="utf-8")


def _table(
    rows: list[tuple[str, int, int, int, int]], total: list[int], alarms: int, launches: int, missed: list[str]
) -> str:
    lines = [
        f"{len(rows)} programs that are right, {launches} launches under {len(SCHEDULES)} schedules: "
        f"**{alarms} false alarms**. "
        f"{total[0]} racy variants: **{total[1]} caught** ({total[2]} under the first schedule alone), "
        f"{total[0] - total[1]} missed.",
        "",
        "| program | racy variants | caught | caught, first schedule | variants that are no race |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
    ]
    return "\n".join(lines + [f"\nMissed: {name}" for name in missed])


def _name(program: Program, variant: Variant) -> str:
    return f"{program.name}, {variant.mutant}"


if __name__ == "__main__":
    _command()
