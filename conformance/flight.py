"""Launches made ahead, those of several calls together.

The launcher of each call runs as shipped, one after another; where it launches a Triton kernel that is interpreted, the
launch waits, and all that wait are evaluated in few passes (`interpreter/flight.py`). So it has to be a launcher that
does nothing with the results but to return them. A flight ends at the first launch in which anything is wrong: from
then on calls are launched as they are judged, so that a finding always comes from a launch by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from conformance import runtime
from conformance.device import policy
from conformance.launch import Launch, Settings, Started, start
from conformance.operations import DispatchMode
from conformance.pool import Pool
from conformance.trial import Trial
from strategies import Call

# what launchers do to a result that they return in another shape: it looks at no element
_VIEWS = frozenset(
    f"aten::{name}"
    for name in (
        "_reshape_alias", "_unsafe_view", "alias", "as_strided", "detach", "expand", "permute", "select", "slice",
        "squeeze", "t", "transpose", "unsqueeze", "view",
    )
)  # fmt: skip


class _Watch(DispatchMode):
    """Notes whether torch does anything after a launch that waits."""

    def __init__(self, waiting: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._waiting = waiting
        self.touched = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self._waiting and func.name().split(".")[0] not in _VIEWS:
            self.touched = True
        return func(*args, **(kwargs or {}))


class Flight:
    """Launches calls of a trial ahead of their judgement, while nothing is wrong with any."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        if trial.flies is None and (runtime.current() != "interpret" or policy.current().isolate == "always"):
            trial.flies = False

    def __call__(self, calls: Sequence[Any]) -> None:
        """Launch the calls, as far as that can be done ahead."""
        trial = self._trial
        trial.ahead.clear()
        if trial.flies is False or not calls:
            return
        runtime.prepare()
        from conformance import interpreter  # where Triton is there alone

        machine = interpreter.machine()
        if machine is None:
            trial.flies = False
            return
        pool = Pool()
        runs: list[tuple[Started, list[tuple[Any, int]]]] = []
        for call in calls:
            waiting: list[tuple[Any, int]] = []
            started = self._start(call, pool, waiting)
            if started is None:
                return
            runs.append((started, waiting))
        left = interpreter.fly(machine, [launch for _, waiting in runs for launch, _ in waiting], pool)
        trial.flies = trial.flies and not left
        apart = set(map(id, left))
        for started, waiting in runs:
            if any(id(launch) in apart for launch, _ in waiting):
                continue
            arena, done = started.observation.arena, started.finish()
            written = any(version != arena.version() for _, version in waiting)
            waiting.clear()  # a launch holds the observation that holds it
            if written or done.events or done.returned is not None or not _own(done):
                trial.flies = False
                continue
            trial.ahead[id(started.call)] = done

    def _start(self, call: Call, pool: Pool, waiting: list[tuple[Any, int]]) -> Started | None:
        """The run of a launcher whose launch waits; None if it is not one that can."""
        trial = self._trial
        settings = Settings(meta=trial.meta, allocator=pool)
        if trial.flies:
            started = start(trial.kernel, trial.op, call, settings, waiting=waiting)
        else:
            with _Watch(waiting) as watch:
                started = start(trial.kernel, trial.op, call, settings, waiting=waiting)
            if waiting or any(math.prod(launched.grid) for launched in started.observation.geometry):
                trial.flies = bool(waiting) and not watch.touched
        if started.error is not None or len(waiting) > 1 or started.observation.events:
            trial.flies = False
        if any(launch.launch.tracer.notes for launch, _ in waiting):
            trial.flies = False
        return None if trial.flies is False else started


def _own(launch: Launch) -> bool:
    """Whether every output is memory that the launch was seen to make or was given."""
    return all(output.numel() == 0 or launch.output_placed(i) is not None for i, output in enumerate(launch.outputs))
