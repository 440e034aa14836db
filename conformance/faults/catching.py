"""Whether the oracles that a fault names object to it, and how soon."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

from conformance import lanes
from conformance.case import dtype_name
from conformance.checking import choose_dtypes, merge
from conformance.device.judge import Judge
from conformance.explore import explore
from conformance.faults.fault import Fault
from conformance.oracles.objection import Objection
from conformance.trial import Trial

# Lanes whose launches the launch oracles judge, by the oracle.
_LAUNCHES = ("launch", "special_values", "exact")


@dataclasses.dataclass(frozen=True)
class Caught:
    """The first objection to a fault by an oracle that it names: after how many examples and seconds, and in which test
    id of the kernel."""

    oracle: str
    id: str
    examples: int
    seconds: float
    objection: Objection


@dataclasses.dataclass(frozen=True)
class Missed:
    """No oracle that the fault names objected within the budget."""

    examples: int
    seconds: float


def carrying(oracle: str) -> tuple[str, ...]:
    """The lanes in which an oracle can object, its own first.

    >>> carrying("bounds"), carrying("accuracy"), carrying("layouts")
    (('launch', 'special_values', 'exact'), ('launch', 'special_values'), ('layouts',))
    """
    memory = {module.__name__.rpartition(".")[2] for module in lanes.MEMORY}
    own = tuple(name for name in lanes.LANES if name == oracle)
    return own + (_LAUNCHES if oracle in memory else _LAUNCHES[:2] if oracle == "accuracy" else ())


def trial_of(fault: Fault, *, fixed: bool = False) -> Trial:
    """The faulty kernel, or its fixed twin, on trial with the promises of the fault.

    Raises:
        ValueError: the fault has no fixed twin.
    """
    kernel = fault.fixed if fixed else fault.kernel
    if kernel is None:
        raise ValueError(f"{fault.name} has no fixed twin")
    return Trial(fault.op, kernel, merge(fault.op.promises, dict(fault.promises)))


def catch(fault: Fault, *, examples: int = 100, seed: int = 0, oracles: Sequence[str] | None = None) -> Caught | Missed:
    """The first objection to the faulty kernel by one of `oracles` (by default those that it names), with `examples`
    calls for each dtype and lane, drawn as a test draws so few; only the lanes in which they can object are run, and
    nothing is shrunk."""
    wanted = tuple(oracles or fault.oracles)
    trial = trial_of(fault)
    names = dict.fromkeys(lane for oracle in wanted for lane in carrying(oracle))
    started = time.perf_counter()
    drawn = 0
    for name in names:
        lane = lanes.LANES[name]
        if lane.skip(trial) is not None:
            continue
        for dtype in choose_dtypes(trial.op, trial.promises, None):
            judge = Judge(trial, lane)
            exploration = explore(
                lane.draw(trial, dtype),
                lambda call, judge=judge: [o for o in judge(call) if o.failure.oracle in wanted],  # type: ignore[misc]
                examples=examples,
                seed=seed,
                stop_at_first=True,
            )
            drawn += exploration.examples
            if exploration.found:
                objection = next(iter(exploration.found.values())).objection
                seconds = time.perf_counter() - started
                return Caught(objection.failure.oracle, f"{dtype_name(dtype)}-{name}", drawn, seconds, objection)
    return Missed(drawn, time.perf_counter() - started)
