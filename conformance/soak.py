"""A soak: the kernels that ship, which are right, judged with ever new seeds; whatever is found is a fault.

Several processes soak side by side, each with seeds of its own.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import multiprocessing
import pkgutil
import random
import signal
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
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
# More rounds than a process gets through, so that no two processes have a seed in common.
_SEEDS_APART = 1_000_000


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
    """What a soak has counted: `examples` calls judged in `rounds` whole rounds over `items` test ids, and findings.

    `lost` says of each process that ended before its time how it ended, and in which test id.
    """

    seed: int
    items: int
    examples: int = 0
    rounds: int = 0
    seconds: float = 0.0
    findings: list[Finding] = dataclasses.field(default_factory=list)
    lost: list[str] = dataclasses.field(default_factory=list)
    interrupted: bool = False
    jobs: int = 1

    def record(self) -> dict[str, Any]:
        """The counts as the JSON values that are kept of a run."""
        versions = runtime.versions()
        return {
            "date": datetime.now(timezone.utc).date().isoformat(),
            "runtime": versions.pop("runtime"),
            "device": versions.pop("device"),
            "versions": versions,
            "seed": self.seed,
            "jobs": self.jobs,
            "ids": self.items,
            "rounds": self.rounds,
            "examples": self.examples,
            "seconds": round(self.seconds, 1),
            "findings": len(self.findings),
            "lost": len(self.lost),
            "interrupted": self.interrupted,
        }


Progress = Callable[[str, Soak], None]
"""What is told of a soak: the test id that is judged next, and the counts so far."""


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


def new_seed() -> int:
    """A random seed for the first round."""
    return random.SystemRandom().randrange(2**31)


def soak(
    seconds: float, *, seed: int | None = None, examples: int = EXAMPLES, progress: Progress | None = None
) -> Soak:
    """The counts of rounds over all shipped kernels until the time is over or the user interrupts.

    Each round draws from a seed of its own, counted up from `seed` (by default a random one), in an order of its own. A
    test id that an oracle has objected to is not judged again.
    """
    todo = items()
    first = new_seed() if seed is None else seed
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
            progress(item.name, done)
        outcome = case.run(item.trial, LANES[item.lane], item.dtype, examples=examples, seed=seed)
        done.examples += outcome.result.examples
        done.findings += outcome.findings
        if outcome.findings:
            failed.append(item)
        if outcome.interrupted:
            done.interrupted = True
            break
    return failed


class _Process:
    """A process that soaks, as the one that started it sees it."""

    def __init__(self, seconds: float, seed: int, examples: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        kind = runtime.current(), runtime.stock()
        self._process: BaseProcess = context.Process(
            target=_serve, args=(theirs, kind, seconds, seed, examples), daemon=True
        )
        # its own from its first moment: a terminal sends Ctrl-C to all, and the one that started this asks to stop
        resource_tracker.ensure_running()  # the first process would start it, which lets the signal through again
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.at = "its start"
        self.stopped = False
        self.done = Soak(seed, 0)

    def take(self) -> bool:
        """Take the next message; False where none will come."""
        try:
            message = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            if not self.stopped:
                self.done.lost.append(f"a process ended with status {self._process.exitcode} in {self.at}")
            return False
        if isinstance(message, Soak):
            self.done = message
            return False
        self.at, self.done = message
        return True

    def stop(self) -> None:
        """Ask the process to end after the test id that it is at."""
        self.stopped = True
        try:
            self.connection.send("stop")
        except OSError:
            return  # it has ended


def _serve(parent: Connection, kind: tuple[runtime.Runtime, bool], seconds: float, seed: int, examples: int) -> None:
    """The work of one process: soak, and send the counts after each test id and at the end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # which may be sent to all as well
    torch.set_num_threads(1)
    runtime.select(kind[0], stock=kind[1])

    def progress(name: str, done: Soak) -> None:
        parent.send((name, done))
        if parent.poll():  # asked to stop, or nobody is there any more
            raise KeyboardInterrupt

    parent.send(soak(seconds, seed=seed, examples=examples, progress=progress))


def soak_in_parallel(
    seconds: float,
    jobs: int,
    *,
    seed: int | None = None,
    examples: int = EXAMPLES,
    progress: Progress | None = None,
) -> Soak:
    """The counts of that many processes together, each of which soaks with seeds of its own; see `soak`."""
    first = new_seed() if seed is None else seed
    started = time.perf_counter()
    processes = [_Process(seconds, first + k * _SEEDS_APART, examples) for k in range(jobs)]
    waiting = {process.connection: process for process in processes}
    interrupted = False
    while waiting:
        try:
            for ready in connection.wait(list(waiting)):
                process = waiting[ready]  # type: ignore[index]  # `wait` gives back what it was given
                if not process.take():
                    del waiting[process.connection]
                elif progress is not None:
                    progress(process.at, _together(first, processes))
        except KeyboardInterrupt:
            interrupted = True
            for process in waiting.values():
                process.stop()
    done = _together(first, processes)
    done.seconds, done.interrupted = time.perf_counter() - started, done.interrupted or interrupted
    return done


def _together(seed: int, processes: list[_Process]) -> Soak:
    counts = [process.done for process in processes]
    return Soak(
        seed,
        max(each.items for each in counts),
        examples=sum(each.examples for each in counts),
        rounds=sum(each.rounds for each in counts),
        findings=[finding for each in counts for finding in each.findings],
        lost=[line for each in counts for line in each.lost],
        interrupted=any(each.interrupted for each in counts),
        jobs=len(counts),
    )


def append(path: str | Path, done: Soak) -> None:
    """Add the run to a JSON list of runs, which is made where there is none."""
    path = Path(path)
    runs = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    write_json(path, [*runs, done.record()])
