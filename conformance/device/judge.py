"""Who judges the calls of a case: this process, or a child that a kernel may end."""

from __future__ import annotations

import dataclasses
import itertools
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from conformance import runtime
from conformance.device import isolation, policy, precompile, verdicts, watch
from conformance.device.address import NotImportable
from conformance.device.worker import lost_device
from conformance.failures import (
    ConfigsFailure,
    ConformanceFailure,
    OffsetsFailure,
    RefusalsFailure,
)
from conformance.op import OpError
from conformance.oracles.objection import Objection

if TYPE_CHECKING:
    from conformance.observation import Geometry
    from conformance.trial import Trial

# Lanes that compare launches say nothing of a call that cannot be launched; the lanes that judge memory do.
_COMPARING = frozenset({"determinism", "layouts", "batch_invariance", "relations"})
# In a comparing lane that many faults show that the kernel cannot be compared: every one costs a process.
_MOST_FAULTS = 3
# What a fault is to the lanes that have a law of their own for it.
_OWN: dict[str, type[ConformanceFailure]] = {
    "configs": ConfigsFailure,
    "offsets": OffsetsFailure,
    "refusals": RefusalsFailure,
}
# Seconds for all variants of a kernel; each takes 0.05 to 0.5 s of one core (measured on an H200).
_COMPILE_SECONDS = 240.0
# Once a kernel has hung, a call may take this many times the longest that ended, and at least a second: shrinking meets
# many hangs, and each costs all of that. The first call in a process loads the kernel: twice its time is added.
_PATIENCE = 20.0
_LEAST_SECONDS = 1.0


class LaneLike(Protocol):
    """What a judge needs of a lane."""

    @property
    def id(self) -> str:
        """The lane's id."""
        ...

    @property
    def check(self) -> Callable[[Trial, Any], list[Objection]]:
        """What the lane says of a drawn call."""
        ...

    @property
    def dry(self) -> Callable[[Trial, Any], object]:
        """Dry launches of what `check` launches on a GPU."""
        ...


class JudgeError(RuntimeError):
    """A check failed in a child process by no fault of the kernel; the message has the child's traceback."""


class Remote:
    """A trial in the child processes."""

    def __init__(self, trial: Trial, *, process: isolation.Process | None = None) -> None:
        self._setup = isolation.describe(trial)
        self._key = f"trial {next(_numbers)}"
        self._process = process or isolation.process()
        self.hung_seconds = 0.0  # how long calls that hung were waited for
        self._slowest = 0.0
        self._slowest_first = 0.0
        self._replaced = -1
        self._process.add(self._key, self._setup)

    def check(self, trial: Trial, lane: str, drawn: Any) -> list[Objection] | Objection:
        """What the lane says of the call; one objection alone where the call ended its process."""
        answer = self._ask({"do": "check", "lane": lane, "drawn": verdicts.encode_drawn(drawn)})
        if isinstance(answer, Objection):
            return answer
        trial.tightness.points.extend((int(size), float(ratio)) for size, ratio in answer["points"])
        trial.tightness.biases.extend(float(bias) for bias in answer["biases"])
        trial.tightness.undecided += answer["undecided"]
        trial.tightness.judged += answer["judged"]
        trial.launched = verdicts.decode_geometry(answer["geometry"])
        watch.totals().add(watch.Counts.from_json(answer["counts"]))
        return [verdicts.decode_objection(each) for each in answer["objections"]]

    def geometry(self, call: Any) -> tuple[Geometry, ...]:
        """The launches that the kernel makes for a call, none where they cannot be known without running it."""
        answer = self._ask({"do": "geometry", "drawn": verdicts.encode_drawn(call)})
        return () if isinstance(answer, Objection) else verdicts.decode_geometry(answer["geometry"])

    def compile(self, lane: str, drawn: Sequence[Any]) -> watch.Counts:
        """Compile what the lane launches for the calls; what does not compile, or ends the process, is met again."""
        request = {"do": "compile", "lane": lane, "drawn": [verdicts.encode_drawn(call) for call in drawn]}
        self._process.add(self._key, self._setup)
        try:
            answer = self._process.call(self._key, request, _COMPILE_SECONDS)
        except isolation.Ended:
            return watch.Counts()
        return watch.Counts.from_json(answer["counts"]) if "counts" in answer else watch.Counts()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any] | Objection:
        self._process.add(self._key, self._setup)  # nothing unless an interrupt has ended the processes
        first, self._replaced = self._process.replaced != self._replaced, self._process.replaced
        limit = policy.current().hang_seconds
        if self.hung_seconds:
            loading = 2 * self._slowest_first if first else 0.0
            limit = min(limit, max(_LEAST_SECONDS, _PATIENCE * self._slowest) + loading)
        try:
            answer = self._process.call(self._key, request, limit)
        except isolation.Ended as ended:
            if ended.hung:
                self.hung_seconds += limit
                return verdicts.hang(limit, ended.output)
            if ended.garbled is not None:
                return verdicts.garbled(ended.garbled, ended.output)
            return verdicts.death(ended.status, ended.output)
        if "lost" in answer:
            return verdicts.fault(answer["lost"], answer["output"])
        if "op_error" in answer:
            raise OpError(answer["op_error"])
        if "unjudged" in answer:
            raise runtime.CannotBeJudged(answer["unjudged"])
        if "error" in answer:
            raise JudgeError(f"{answer['error']}\n{answer.get('traceback', '')}")
        compiling = watch.Counts.from_json(answer["counts"]).compile_seconds if "counts" in answer else 0.0
        seconds = answer["seconds"] - compiling
        if first:
            self._slowest_first = max(self._slowest_first, seconds)
        else:
            self._slowest = max(self._slowest, seconds)
        return answer


_numbers = itertools.count(1)


class Judge:
    """Judges the calls of one lane of a trial, here or in a child process, as the policy says."""

    def __init__(self, trial: Trial, lane: LaneLike, *, process: isolation.Process | None = None) -> None:
        self.trial = trial
        self.lane = lane
        self.faults = 0
        self._process = process
        self._mode = _mode()
        if _device_lost[0] or self._mode == "always":
            self._move()

    def __call__(self, drawn: Any) -> list[Objection]:
        """What the lane says of one drawn call."""
        remote = self.trial.remote
        if remote is None:
            found, lost = self._here(drawn)
            if lost is None:
                return found
            _device_lost[0] = True
            self._move()
            remote = self.trial.remote
            if remote is None:
                return self._of_fault(verdicts.fault(lost))
        if self.lane.id in _COMPARING and self.faults >= _MOST_FAULTS:
            return []
        verdict = remote.check(self.trial, self.lane.id, drawn)
        return self._of_fault(verdict) if isinstance(verdict, Objection) else verdict

    def compile(self, drawn: Sequence[Any]) -> watch.Counts:
        """Compile what the lane launches for the calls, ahead of them."""
        if self.trial.remote is None:
            counts = precompile.compile_calls(self.trial, self.lane, drawn)
            if lost_device() is None:
                return counts
            # torch code of the launcher has met what no kernel has written in a dry launch
            _device_lost[0] = True
            self._move()
        return watch.Counts() if self.trial.remote is None else self.trial.remote.compile(self.lane.id, drawn)

    def clock(self) -> float:
        """The seconds that calls have cost: this process's computing, and its waiting for calls that hung elsewhere."""
        waited = 0.0 if self.trial.remote is None else self.trial.remote.hung_seconds
        return time.process_time() + waited

    def _here(self, drawn: Any) -> tuple[list[Objection], str | None]:
        if self._mode == "never" and runtime.current() != "gpu":  # no device to lose, and nothing that compiles
            return self.lane.check(self.trial, drawn), None
        with watch.counting() as counts:
            try:
                found = self.lane.check(self.trial, drawn)
            except RuntimeError:
                lost = lost_device()
                if lost is None:
                    raise
                return [], lost
        watch.totals().add(counts)
        return found, lost_device()

    def _of_fault(self, fault: Objection) -> list[Objection]:
        self.faults += 1
        if self.lane.id in _COMPARING:
            return []
        own = _OWN.get(self.lane.id)
        return [fault if own is None else dataclasses.replace(fault, failure=own)]

    def _move(self) -> None:
        """Judge in a child process from now on, unless that cannot be."""
        if self.trial.remote is not None:
            return
        from conformance.lanes import LANES

        if LANES.get(self.lane.id) is not self.lane:
            return  # a lane of two trials, which a child knows nothing of
        try:
            self.trial.remote = Remote(self.trial, process=self._process)
        except (NotImportable, isolation.IsolationError) as error:
            if policy.current().isolate == "always":
                raise
            warnings.warn(
                f"{self.trial.name} is judged in this process, which it may end: {error}",
                runtime.ConformanceWarning,
                stacklevel=2,
            )


# Whether a fault has cost this process its device: every trial is then judged in child processes.
_device_lost = [False]


def _mode() -> str:
    mode = policy.current().isolate
    if mode == "auto":
        # in this process until the first fault: in a child a call costs half as much again (docs/gpu-run.md), and every
        # kernel is loaded anew
        return "fault" if runtime.current() == "gpu" else "never"
    return mode
