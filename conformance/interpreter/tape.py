"""Tapes: what a kernel does, as a list of NumPy operations that can be run again without the kernel's Python.

Triton's own semantic layer decides types, broadcasting and promotion while a kernel runs for the first time; every
operation it asks the builder for is executed at once and noted on a tape. A launch with the same argument types and
constexprs replays the tape. Every value carries a leading program axis (1 or as many as there are programs in the
batch), so one pass evaluates a whole grid.

A value that decides Python control flow (`if`, `range`, `while`) is a *guard*: a tape ends there and goes on in the
child for that value. Where the value differs among programs the batch is cut in groups, each with its rows of every
live value, and each group goes on by itself: nothing is executed twice and nothing has to be taken back. A group whose
branch was never seen calls the kernel's Python again, with the operations up to the guard answered from memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from conformance.watchdog import Deadline, HangError, Watchdog

# A kernel that records more operations than this in one path does not end: the largest correct case of the suite
# (a row of 50,000 in blocks of 16) needs 60,000.
MOST_OPERATIONS = 2_000_000

Operation = Callable[..., Any]
# operation, input slots, output slot, slots freed before it
Step = tuple[Operation, tuple[int, ...], int, tuple[int, ...]]


class Node:
    """The operations from one guard to the next, and the children by the guard's value.

    `constants` has one entry for each slot that the node adds, None where an operation fills it; `extra` is what a
    recording has decided, for the next one that takes the same path.
    """

    __slots__ = ("base", "children", "constants", "extra", "guard", "kind", "parent", "recorded", "steps", "value")

    def __init__(self, parent: Node | None, value: Any, base: int) -> None:
        self.parent, self.value, self.base = parent, value, base
        self.steps: list[Step] = []
        self.constants: list[Any] = []
        self.extra: dict[Any, Any] = {}
        self.children: dict[Any, Node] = {}
        self.guard: int | None = None
        self.kind: Callable[[Any], Any] = int
        self.recorded = False

    def clear(self) -> None:
        """Forget what a recording that failed has left here."""
        self.steps, self.constants, self.extra, self.children = [], [], {}, {}
        self.guard, self.recorded = None, False

    def prune(self, effects: set[int]) -> None:
        """Take out what gives a value that nobody uses, for a node in which a kernel ends: a loop's last advance."""
        needed: set[int] = set()
        kept: list[Step] = []
        for operation, inputs, output, freed in reversed(self.steps):
            if output in effects or output in needed:
                needed.update(inputs)
                kept.append((operation, inputs, output, freed))
            elif freed and kept:
                later = kept[-1]
                kept[-1] = (*later[:3], freed + later[3])
        self.steps = kept[::-1]


class Handle:
    """A value as Triton's semantic layer holds it: a slot of the tape with its scalar type and block shape.

    `origin` says where a pointer comes from: the number of the argument, None for a pointer made of an integer, or
    the handle of a block of such numbers. `derived` is set on 32-bit results that may have overflowed.
    """

    __slots__ = ("base", "constant", "derived", "dtype", "origin", "recording", "shape", "slot")

    def __init__(self, recording: Recording, slot: int, dtype: Any, shape: tuple[int, ...]) -> None:
        self.recording, self.slot, self.dtype, self.shape = recording, slot, dtype, shape
        self.constant = False
        self.base: Handle | None = None  # the handle whose slot this one shares
        self.origin: Any = None
        self.derived: Any = None

    def __del__(self) -> None:
        if not self.constant and self.base is None:
            recording = self.recording
            recording.values[self.slot] = None
            recording.freed.append(self.slot)

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The value of every program, for printing and for Triton code that looks at it."""
        recording = self.recording
        recording.asked += 1
        recording.seen += 1
        value: np.ndarray[Any, Any] = recording.values[self.slot]
        return value

    def set_attr(self, key: str, value: Any) -> None:
        """Nothing: hints (`tl.multiple_of`) change no value."""

    def get_element_ty(self) -> Any:
        """The scalar type, for pointers the type pointed at."""
        dtype = self.dtype
        while hasattr(dtype, "element_ty"):
            dtype = dtype.element_ty
        return dtype


class Batch:
    """Programs that are evaluated together: their numbers, ids (n, 3) and the values of the tape's slots."""

    __slots__ = ("ids", "linear", "node", "size", "values")

    def __init__(self, node: Node, values: list[Any], ids: np.ndarray[Any, Any], linear: np.ndarray[Any, Any]) -> None:
        self.node, self.values, self.ids, self.linear = node, values, ids, linear
        self.size = len(linear)

    def take(self, rows: np.ndarray[Any, Any], node: Node) -> Batch:
        """The programs in `rows`, each value cut to them."""
        size = self.size
        values = [v[rows] if isinstance(v, np.ndarray) and v.shape[0] == size and size > 1 else v for v in self.values]
        return Batch(node, values, self.ids[rows], self.linear[rows])


class Recording:
    """One call of the kernel's Python: answers what is already known, executes and notes the rest."""

    def __init__(self, machine: Machine, batch: Batch) -> None:
        self.machine, self.batch = machine, batch
        self.values = batch.values
        self.freed: list[int] = []
        self.widest = 1
        self.asked = 0  # how often a value was looked at
        self.seen = 0  # how often one that a launch may change, in another way than by a guard
        self.effects: set[int] = set()  # slots of the operations that do more than to give a value
        path: list[Node] = []
        node: Node | None = batch.node
        while node is not None:
            path.append(node)
            node = node.parent
        self.ahead = path[::-1]  # nodes whose guards are known; the last one is to be recorded
        self.node = self.ahead.pop(0)
        self.next = self.node.base
        self.live = not self.ahead
        if self.live:
            self.next = len(self.values)

    def emit(
        self,
        operation: Operation,
        inputs: Sequence[Handle],
        dtype: Any,
        shape: tuple[int, ...] = (),
        effect: bool = False,
    ) -> Handle:
        """The handle of operation(*values of inputs); an operation of constants is done once, at recording."""
        constant = not effect and bool(inputs)
        for handle in inputs:
            constant = constant and handle.constant
        slot = self.next
        if self.live:
            if shape:
                self.widest = max(self.widest, math.prod(shape))
            slots = tuple([h.slot for h in inputs])
            if constant:
                values = self.values
                result = operation(*[values[s] for s in slots])
                values.append(result)
                self.node.constants.append(result)
                self.next += 1
            else:
                self.step(operation, slots, effect)
        else:
            self.skip()
        handle = Handle(self, slot, dtype, shape)
        handle.constant = constant
        return handle

    def skip(self) -> None:
        """Go past a step that is on the tape."""
        self.next += 1
        self.freed.clear()

    def step(self, operation: Operation, slots: tuple[int, ...], effect: bool) -> None:
        """Execute and note operation(*values of slots)."""
        values, node, slot = self.values, self.node, self.next
        self.next += 1
        values.append(operation(*[values[s] for s in slots]))
        node.constants.append(None)
        node.steps.append((operation, slots, slot, tuple(self.freed)))
        self.freed.clear()
        if effect:
            self.effects.add(slot)
        if len(values) > MOST_OPERATIONS:
            raise HangError(f"no end after {MOST_OPERATIONS} operations")
        if not len(values) & 255:
            self.machine.check_time()

    def constant(self, value: Any, dtype: Any, shape: tuple[int, ...] = ()) -> Handle:
        """The handle of a value that no argument changes."""
        slot = self.next
        self.next += 1
        if self.live:
            self.values.append(value)
            self.node.constants.append(value)
        handle = Handle(self, slot, dtype, shape)
        handle.constant = True
        return handle

    def alias(self, handle: Handle, dtype: Any, shape: tuple[int, ...]) -> Handle:
        """The same value under another type or shape, at no cost."""
        result = Handle(self, handle.slot, dtype, shape)
        result.constant, result.base = handle.constant, handle.base or handle
        return result

    def guard(self, handle: Handle, kind: Callable[[Any], Any]) -> Any:
        """`kind` of a scalar that Python asks for; programs with another value go on later, in their own batch."""
        node = self.node
        self.asked += 1
        if handle.constant:
            return kind(self.values[handle.slot].reshape(-1)[0])
        if not self.live:
            self.node = self.ahead.pop(0)
            self.live = not self.ahead
            return self.node.value
        node.guard, node.kind, node.recorded = handle.slot, kind, True
        groups = self.machine.split(self.batch, node)
        # the kernel goes on with the group of the first program; the others wait until this one has ended
        batch = groups[0]
        self.machine.waiting.extend(groups[:0:-1])
        self.batch, self.node, self.values = batch, batch.node, batch.values
        self.machine.enter(batch)
        return self.node.value


class Machine:
    """Runs batches over the tapes of one kernel, recording where a tape is missing."""

    def __init__(self) -> None:
        self.waiting: list[Batch] = []
        self.batch: Batch | None = None
        self.recording: Recording | None = None
        self.watchdog = Watchdog()
        self.deadline = Deadline(0.0)
        self.unrolled: set[tuple[str, int]] = set()  # loops whose iterations differ, by file and line

    def check_time(self) -> None:
        """Raise HangError when the launch has used up its time."""
        late = self.deadline.passed()
        if late:
            raise HangError(late)

    def enter(self, batch: Batch) -> None:
        """Make `batch` the one whose programs run now."""
        self.batch = batch

    @staticmethod
    def child(node: Node, value: Any, slots: int) -> Node:
        """The node that follows `node` for a guard value."""
        found = node.children.get(value)
        if found is None:
            found = node.children[value] = Node(node, value, slots)
        return found

    def split(self, batch: Batch, node: Node) -> list[Batch]:
        """The batch, cut by the value of the node's guard; the group of the first program comes first."""
        assert node.guard is not None
        data = batch.values[node.guard].reshape(-1)
        first = data[0]
        slots = len(batch.values)
        if data.size == 1 or (data == first).all():
            batch.node = self.child(node, node.kind(first), slots)
            return [batch]
        found, where = np.unique(data, return_inverse=True)
        rows = [np.flatnonzero(where == i) for i in range(len(found))]
        groups = [batch.take(r, self.child(node, node.kind(v), slots)) for v, r in zip(found, rows, strict=True)]
        return [groups[i] for i in np.argsort([r[0] for r in rows])]

    def run(self, batch: Batch, record: Callable[[Recording], None]) -> None:
        """Evaluate the batch from its node to the end of the kernel, groups that split off included."""
        waiting = self.waiting = [batch]
        while waiting:
            batch = waiting.pop()
            self.enter(batch)
            while batch.node.recorded:
                node = batch.node
                self.replay(node, batch.values)
                if node.guard is None:
                    break
                groups = self.split(batch, node)
                waiting.extend(groups[:0:-1])
                batch = groups[0]
                self.enter(batch)
                self.check_time()
            else:
                self.record(batch, record)

    def record(self, batch: Batch, record: Callable[[Recording], None]) -> None:
        """Call the kernel's Python for a batch whose tape is missing."""
        recording = self.recording = Recording(self, batch)
        try:
            with self.watchdog.watch(self.deadline.seconds):
                record(recording)
        except BaseException:
            recording.node.clear()
            raise
        finally:
            self.recording = None
        recording.node.recorded = True
        recording.node.prune(recording.effects)

    @staticmethod
    def replay(node: Node, values: list[Any]) -> None:
        """Run the operations of one node."""
        values += node.constants
        execute(node.steps, values)


def execute(steps: list[Step], values: list[Any]) -> None:
    """Run steps, one after another."""
    for operation, inputs, output, freed in steps:
        for slot in freed:
            values[slot] = None
        if len(inputs) == 2:
            a, b = inputs
            values[output] = operation(values[a], values[b])
        else:
            values[output] = operation(*[values[i] for i in inputs])
