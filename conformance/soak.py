"""A soak: the kernels that ship, which are right, judged with ever new seeds; whatever is found is a fault."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import random
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

import conformance
from conformance import case, runtime
from conformance.failures import Finding
from conformance.lanes import LANES
from conformance.report.documents import write_json
from conformance.trial import Trial

# Calls for each test id in a round: few, so that a short soak still comes to every kernel.
EXAMPLES = 25

Progress = Callable[[str, int], None]


@dataclasses.dataclass(frozen=True)
class Item:
    """One test id of a shipped kernel."""

    trial: Trial
    dtype: torch.dtype | None
    lane: str

    @property
    def name(self) -> str:
        """Kernel and id, as pytest would show them."""
        return f"{self.trial.name}[{case.dtype_name(self.dtype)}-{self.lane}]"


@dataclasses.dataclass
class Soak:
    """What a soak has counted: `examples` calls judged in `rounds` whole rounds over `items` test ids, and findings."""

    seed: int
    items: int
    examples: int = 0
    rounds: int = 0
    seconds: float = 0.0
    findings: list[Finding] = dataclasses.field(default_factory=list)
    interrupted: bool = False

    def record(self) -> dict[str, Any]:
        """The counts as the JSON values that are kept of a run."""
        versions = runtime.versions()
        return {
            "date": datetime.now(timezone.utc).date().isoformat(),
            "runtime": versions.pop("runtime"),
            "device": versions.pop("device"),
            "versions": versions,
            "seed": self.seed,
            "ids": self.items,
            "rounds": self.rounds,
            "examples": self.examples,
            "seconds": round(self.seconds, 1),
            "findings": len(self.findings),
            "interrupted": self.interrupted,
        }


def items() -> list[Item]:
    """The test ids of the kernels that ship, but those that are expected to fail."""
    found = []
    for module in _modules():
        for name, value in vars(module).items():
            if name.startswith("test_") and hasattr(value, "cases"):
                found += [Item(value.trial, dtype, lane) for dtype, lane in value.cases]
    return found


def _modules() -> Iterator[Any]:
    for module in pkgutil.iter_modules(conformance.__path__):
        if module.name.startswith("test_"):
            yield importlib.import_module(f"conformance.{module.name}")


def soak(
    seconds: float, *, seed: int | None = None, examples: int = EXAMPLES, progress: Progress | None = None
) -> Soak:
    """The counts of rounds over all shipped kernels until the time is over or the user interrupts.

    Each round draws from a seed of its own, counted up from `seed` (by default a random one), in an order of its own. A
    test id that an oracle has objected to is not judged again.
    """
    todo = items()
    first = random.SystemRandom().randrange(2**31) if seed is None else seed
    done = Soak(first, len(todo))
    started = time.perf_counter()
    try:
        while todo and not done.interrupted and time.perf_counter() - started < seconds:
            failed = _round(todo, done, first + done.rounds, examples, started + seconds, progress)
            todo = [item for item in todo if item not in failed]
            done.rounds += not done.interrupted and time.perf_counter() - started < seconds
    except KeyboardInterrupt:
        done.interrupted = True
    done.seconds = time.perf_counter() - started
    return done


def _round(
    todo: list[Item], done: Soak, seed: int, examples: int, deadline: float, progress: Progress | None
) -> list[Item]:
    failed = []
    for item in random.Random(seed).sample(todo, len(todo)):
        if time.perf_counter() > deadline:
            break
        if progress is not None:
            progress(item.name, done.examples)
        outcome = case.run(item.trial, LANES[item.lane], item.dtype, examples=examples, seed=seed)
        done.examples += outcome.result.examples
        done.findings += outcome.findings
        if outcome.findings:
            failed.append(item)
        if outcome.interrupted:
            done.interrupted = True
            break
    return failed


def append(path: str | Path, done: Soak) -> None:
    """Add the run to a JSON list of runs, which is made where there is none."""
    path = Path(path)
    runs = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    write_json(path, [*runs, done.record()])
