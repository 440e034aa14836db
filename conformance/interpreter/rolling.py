"""Rolled loops: a tape holds two iterations of a loop, and runs the second again as often as a launch asks for.

Python runs the body twice. What it asks of the builder depends on the types of the kernel's variables, on constants,
and on guards. So a body that asks for no guard, and leaves every local variable as the iteration before did (with the
same type, the same constants, new numbers at most), would ask for the same steps for ever; they are run without it.
Where a launch needs more iterations than the recorded one, the tape is the same: only their number differs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import triton.language as tl

from conformance.interpreter.builder import Array, Builder
from conformance.interpreter.overflow import Chain
from conformance.interpreter.tape import Handle, Machine, Recording, Step, execute

# iterations that Python runs: after the first, the variables hold what iterations leave; the second is repeated
_RUN = 2
# repetitions between two looks at the clock: one takes about 100 microseconds
_UNWATCHED = 64
_PLAIN = (bool, int, float, str, type(None))
_CHANGING = (list, dict, set, bytearray)
_UNKNOWN = object()


def peeled(count: Any) -> int:
    """The number of iterations as far as tapes differ in it: 0, 1, or two and more."""
    return min(int(count), _RUN)


def _same(value: Array) -> Array:
    return value


def fresh(recording: Recording, handle: Handle) -> Handle:
    """The value in a slot of its own, that later steps may write to."""
    if not handle.constant:
        return recording.emit(_same, (handle,), handle.dtype)
    result = recording.constant(recording.values[handle.slot] if recording.live else None, handle.dtype)
    result.constant = False
    return result


class _Slots:
    """The slots of a variable: of its value, of a pointer's block of origins, and of its taint."""

    __slots__ = ("constant", "kind", "slots")

    def __init__(self, handle: Handle) -> None:
        derived = handle.derived
        if isinstance(derived, Chain) and not derived.steps:
            derived = handle.derived = None  # nothing in it can overflow: the value tells as much
        slots, origin = [handle.slot], handle.origin
        for more in (origin, derived):
            if isinstance(more, Handle):
                slots.append(more.slot)
        marks = [_UNKNOWN if isinstance(m, Handle) else m for m in (origin, derived)]
        self.constant, self.slots = handle.constant, slots
        self.kind = (handle.dtype, handle.shape, handle.constant, *marks)


class _State:
    """The local variables of a kernel between two iterations.

    No handle is kept: what dies in an iteration has to.
    """

    def __init__(self, frame: FrameType) -> None:
        self.variables: list[_Slots] = []
        self.known = True
        self._others: list[Any] = []
        found = frame.f_locals
        self.kinds = [(name, self._kind(value)) for name, value in found.items()]
        if type(found) is dict:
            found.clear()  # up to Python 3.12 the frame keeps this copy, and everything in it

    def _kind(self, value: Any) -> Any:
        kind = type(value)
        if kind is tl.tensor:
            self.variables.append(_Slots(value.handle))
            return value.type
        if kind in _PLAIN:
            return kind, repr(value)  # -0.0 == 0.0, and NaN != NaN
        if kind is tl.constexpr:
            return kind, self._kind(value.value)
        if kind in (tuple, tl.core.tuple):
            return kind, [self._kind(item) for item in value]
        if isinstance(value, _CHANGING):
            self.known = False
        self._others.append(value)  # keeps its identity for as long as it is compared
        return kind, id(value)


class _Body:
    """The second iteration: its steps, and where each of its variables comes from in the next one."""

    def __init__(self, recording: Recording, start: int) -> None:
        self.recording, self.node = recording, recording.node
        self.start, self.first, self.seen = start, len(self.node.steps), recording.seen

    def repeated(self, before: _State, after: _State) -> tuple[list[Step], dict[int, int]] | None:
        """The steps and the slots that each repetition copies, {to: from}; None where it would not do the same."""
        recording = self.recording
        if recording.node is not self.node or recording.seen != self.seen:
            return None
        moved = self._moved(before, after)
        if moved is None:
            return None
        steps = self.node.steps[self.first :]
        made: set[int] = set()
        read: set[int] = set()
        freed = set(recording.freed)
        for _, inputs, output, dead in steps:
            read.update(s for s in inputs if s not in made)
            made.add(output)
            freed.update(dead)
        if not made.issuperset(moved.values()) or (read & freed) - moved.keys():
            return None
        return steps, {to: source for to, source in moved.items() if to in read}

    def _moved(self, before: _State, after: _State) -> dict[int, int] | None:
        """Slots whose value the iteration replaced, with those that hold the new one."""
        if not (before.known and after.known) or before.kinds != after.kinds:
            return None
        moved: dict[int, int] = {}
        kept: set[int] = set()
        values = self.recording.values
        for one, two in zip(before.variables, after.variables, strict=True):
            if not _alike(one, two):
                return None
            for old, new in zip(one.slots, two.slots, strict=True):
                if one.constant:
                    if old != new and not _equal(values[old], values[new]):
                        return None
                elif old == new:
                    kept.add(old)
                elif old < self.start or moved.setdefault(old, new) != new:
                    return None  # somebody outside the loop may hold the value, or two variables share it no more
        return None if kept & moved.keys() else moved


def _alike(one: _Slots, two: _Slots) -> bool:
    return len(one.slots) == len(two.slots) and all(
        a is b or (not isinstance(a, Chain) and not isinstance(b, Chain) and bool(a == b))
        for a, b in zip(one.kind, two.kind, strict=True)
    )


def _equal(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _repeat(machine: Machine, steps: list[Step], copies: dict[int, int]) -> Any:
    targets, sources = tuple(copies), tuple(copies.values())

    def repeat(count: Array, *_: Any) -> None:
        assert machine.batch is not None
        values = machine.batch.values
        for i in range(_RUN, int(count.reshape(-1)[0])):
            for target, value in zip(targets, [values[s] for s in sources], strict=True):
                values[target] = value
            execute(steps, values)
            if not i % _UNWATCHED:
                machine.check_time()

    return repeat


def roll(builder: Builder, start: Any, step: Any, count: Handle) -> Iterator[Any]:
    """The variable of a loop that begins at `start` and runs `count` times; the steps of its body come to the tape."""
    recording = builder.recording
    begin = recording.next
    value = fresh(recording, start.handle)
    times = recording.guard(count, peeled)
    if not times:
        return
    yield tl.tensor(value, start.dtype)
    if times < _RUN:
        return
    before = _State(sys._getframe(1))
    body = _Body(recording, begin)
    value = recording.emit(np.add, (value, step.handle), start.dtype)
    yield tl.tensor(value, start.dtype)
    after = _State(sys._getframe(1))
    decided, slot = recording.node.extra, recording.next
    repeated = None
    if recording.live:
        repeated = body.repeated(before, after)
        decided[_repeat, slot] = repeated is not None
    if decided[_repeat, slot]:
        if repeated is not None:
            steps, copies = repeated
            made = {output for _, _, output, _ in steps}
            inputs = {s for _, slots, _, _ in steps for s in slots if s not in made} | set(copies.values())
            recording.step(_repeat(builder.machine, steps, copies), (count.slot, *sorted(inputs)), effect=True)
        else:
            recording.skip()
        return
    frame = sys._getframe(1)
    builder.machine.unrolled.add((frame.f_code.co_filename, frame.f_lineno))
    for _ in range(_RUN, recording.guard(count, int)):
        value = recording.emit(np.add, (value, step.handle), start.dtype)
        yield tl.tensor(value, start.dtype)


def wanted(builder: Builder, frame: FrameType) -> bool:
    """Whether to try: a loop that could not be rolled is recorded as it runs the next time, its variable constant."""
    recording = builder.recording
    decided, slot = recording.node.extra, recording.next
    if recording.live:
        decided[wanted, slot] = (frame.f_code.co_filename, frame.f_lineno) not in builder.machine.unrolled
    return bool(decided[wanted, slot])
