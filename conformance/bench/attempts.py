"""A rival regime on one fault: whether it catches it within the CPU seconds that it is given.

A regime is a file of tests for the kernel. Its tests that fail on the repaired twin as well are false alarms, which
whoever wrote them would take out: a fault is caught where one of the others fails.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection

from conformance.bench.rival_regimes import Regime, objects
from conformance.faults.catching import trial_of
from conformance.faults.fault import Fault

# Wall-clock seconds after which a run is ended, for its budget and for one call that takes long.
_LEAST_WAIT = 120.0
_WAIT_FOR_BUDGET = 20.0


@dataclasses.dataclass(frozen=True)
class Attempt:
    """What became of it: whether a test that is right failed, whether one failed on the repaired twin, and the CPU
    seconds to the first failure that counts, or to the end."""

    caught: bool
    alarm: bool
    seconds: float


@dataclasses.dataclass(frozen=True)
class _Run:
    failed: frozenset[str]
    seconds: float


def attempt(regime: Regime, fault: Fault, budget: float) -> Attempt:
    """The attempt of a regime at a fault; its draws end after `budget` CPU seconds, its fixed calls with the last.

    Raises:
        RuntimeError: the regime itself does not run on the op; the traceback is on stderr.
    """
    run = _run(regime, fault, budget, fixed=False)
    if not run.failed or fault.fixed is None:
        return Attempt(bool(run.failed), False, run.seconds)
    alarms = _run(regime, fault, run.seconds, fixed=True).failed
    if run.failed <= alarms:
        run = _run(regime, fault, budget, fixed=False, without=alarms)
    return Attempt(bool(run.failed - alarms), bool(alarms), run.seconds)


def _run(regime: Regime, fault: Fault, budget: float, *, fixed: bool, without: frozenset[str] = frozenset()) -> _Run:
    """The tests that fail, in a process of its own, since a kernel that is wrong may end it: of the faulty kernel the
    first one, of the twin all."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_tests, args=(sending, regime, fault, budget, fixed, without))
    process.start()
    sending.close()
    failed: set[str] = set()
    kind, running, seconds = "", "", 0.0
    deadline = time.monotonic() + _LEAST_WAIT + _WAIT_FOR_BUDGET * budget
    with contextlib.suppress(EOFError):  # the process ended
        while receiving.poll(max(0.0, deadline - time.monotonic())):
            kind, running, seconds = receiving.recv()
            if kind == "failed":
                failed.add(running)
    late = time.monotonic() >= deadline
    process.join(1.0)
    if process.exitcode == 1:
        raise RuntimeError(f"{regime.name} does not run on {fault.name}: see the traceback of the process above")
    process.kill()
    process.join()
    receiving.close()
    if kind == "running" and not late:
        failed.add(running)  # the test that ran when the process ended
    return _Run(frozenset(failed), seconds)


def _tests(
    sending: Connection, regime: Regime, fault: Fault, budget: float, fixed: bool, without: frozenset[str]
) -> None:
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # reports of the tools, which nobody reads here
    for name, failed, seconds in _failures(regime, fault, budget, fixed, without):
        sending.send(("failed" if failed else "running", name, seconds))
        if failed and not fixed:
            break
    sending.send(("ended", "", cpu_seconds()))
    sending.close()
    os._exit(0)


def _failures(
    regime: Regime, fault: Fault, budget: float, fixed: bool, without: frozenset[str]
) -> Iterator[tuple[str, bool, float]]:
    """Each call before it is made, and those that fail, with the CPU seconds so far; a test ends where it fails.

    Of this process, which runs nothing else.
    """
    trial = trial_of(fault, fixed=fixed)
    over = set(without)
    for name, arguments in regime.calls(fault.op, trial.promises, lambda: cpu_seconds() >= budget):
        if name in over:
            continue
        yield name, False, cpu_seconds()
        if objects(regime, fault.op, trial.kernel, arguments):
            over.add(name)
            yield name, True, cpu_seconds()


def cpu_seconds() -> float:
    """The CPU seconds of this process and of the children that it waited for, such as compilers."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
