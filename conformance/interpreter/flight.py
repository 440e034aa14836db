"""Launches of several calls, evaluated in one pass.

A launch of the suite is small: what it costs are the operations of its tape, each about a microsecond whatever it
computes. Launches with one tape differ in their arguments alone, so their programs make one batch, in which the
arguments are a column each. Every address is still held to the elements of its own launch's tensors.

This path only finds that nothing is wrong. It stops at the first thing that is, or that it does not know how to judge,
and says so by `Apart`; the calls are then launched one by one, and that is what findings come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from triton._C.libtriton import interpreter as native

from conformance.events import Kind
from conformance.interpreter.hazards import Array, Hazards, Place, ascending, places
from conformance.interpreter.launcher import Interpreter, Launch, Prepared, complete, evaluate
from conformance.interpreter.shadow import Shadow
from conformance.pool import Pool
from conformance.regions import Role

# Lanes for one that the mask allows, from which on they are picked out before they are judged: a tile of 32 x 32 on a
# matrix of 5 x 3 has 15 lanes to judge.
_SPARSE = 4


class Apart(Exception):
    """These launches have to be made one by one."""


def fly(machine: Interpreter, prepared: Sequence[Prepared], pool: Pool) -> list[Prepared]:
    """Make launches whose tensors lie in the pool, up to the first with which anything is wrong; those that are left.

    What those have written already may be anything.
    """
    groups: dict[int, list[Prepared]] = {}
    for each in prepared:
        groups.setdefault(id(each.root), []).append(each)
    stamps: dict[int, Array] = {}
    rest = list(groups.values())
    while rest:
        members = rest[0]
        try:
            if len(members) == 1:
                complete(machine, members[0])
            else:
                _together(machine, members, pool, stamps)
        except Exception:  # noqa: BLE001 - whatever it is, the launch by itself shows it again
            break
        rest.pop(0)
    return [each for members in rest for each in members]


def _together(machine: Interpreter, members: list[Prepared], pool: Pool, stamps: dict[int, Array]) -> None:
    first = members[0]
    counts = np.array([len(each.linear) for each in members])
    ids = np.concatenate([each.ids for each in members])
    judge = Judge(members, counts, pool, stamps)
    whole = Prepared(
        first.kernel, Whole(members, judge), first.given, ids, np.arange(len(ids), dtype=np.int64), first.observation
    )
    evaluate(machine, whole, [_column(each, counts) for each in zip(*[m.given.values for m in members], strict=True)])
    judge.leave()


def _column(values: Sequence[Array], counts: Array) -> Array:
    """An argument for each program of the launches; the argument itself where all have the same."""
    if all(value is values[0] for value in values):
        return values[0]
    return np.repeat(np.concatenate(values), counts, axis=0)


class Whole(Launch):
    """The launches as one, for the operations of the tape."""

    __slots__ = ("_grids",)

    def __init__(self, members: list[Prepared], judge: Judge) -> None:
        super().__init__(members[0].kernel.name, members[0].launch.grid, None)
        self.poison = True
        self.tracer = judge  # type: ignore[assignment]
        self._grids = np.array([each.launch.grid for each in members], np.int32)

    @property
    def grid_dim(self) -> Array:
        """The sizes of each program's grid."""
        judge: Any = self.tracer
        sizes: Array = self._grids[judge.owner]
        return sizes

    def note(self, *_: Any, **__: Any) -> NoReturn:
        """An event: it is looked for launch by launch."""
        raise Apart

    def reject(self, why: str, place: Place, stop: bool) -> NoReturn:
        """The compiler refuses a line."""
        raise Apart

    def claim(self, *_: Any) -> NoReturn:
        """An assertion does not hold."""
        raise Apart


class Elements:
    """The elements of one pointer argument in all the launches.

    An entry a launch: `first` address, `span`, and where its elements begin in the pool (`start`) and in `table`
    (`entry`), which has -1 for each gap; it is None where no tensor has any. An element's number is its place in the
    pool.
    """

    __slots__ = (
        "_columns", "entry", "first", "last_read", "last_write", "memory", "pooled", "reader", "shadows", "shift",
        "span", "start", "table", "touched", "writer",
    )  # fmt: skip

    def __init__(self, shadows: list[Shadow], dtype: np.dtype[Any], pool: Pool, writer: Array) -> None:
        self.shadows, self.shift = shadows, shadows[0].shift
        self.memory = pool.elements(dtype)
        self.first = np.array([s.first for s in shadows], np.int64)
        spans = [s.elements.span for s in shadows]
        self.span = np.array(spans, np.uint64)
        self.start = (self.first - pool.address) >> self.shift
        # a copy that torch has made of an argument lies elsewhere
        inside = (self.start >= 0) & (self.start + spans <= len(self.memory))
        self.pooled = bool((inside | (self.span == 0)).all())
        tables = [s.elements.table if s.elements.numel else None for s in shadows]
        self.table: Array | None = None
        self.entry = np.zeros(len(spans), np.int64)
        if any(table is not None for table in tables):
            self.entry[1:] = np.cumsum(spans)[:-1]
            known = [np.zeros(n, np.int32) if t is None else t for t, n in zip(tables, spans, strict=True)]
            self.table = np.concatenate(known)
        self.touched = False
        self.writer = writer
        self.reader: Array | None = None
        self.last_read = self.last_write = 0
        self._columns: tuple[Any, ...] | None = None

    def forget(self) -> None:
        """Other programs run from here on."""
        self._columns = None

    def columns(self, owner: Array) -> tuple[Any, ...]:
        """`first`, `span`, `entry` and `start` of each running program; numbers where all are of one launch."""
        if self._columns is None:
            each = self.first, self.span, self.entry, self.start
            one = owner.item(0)
            if one == owner.item(-1):  # owners ascend
                self._columns = tuple([values[one] for values in each])
            else:
                self._columns = tuple([values.take(owner) for values in each])
        return self._columns

    def memory_as(self, dtype: np.dtype[Any]) -> Array:
        """The memory of the pool as elements of a type of this width."""
        return self.memory if self.memory.dtype == dtype else self.memory.view(dtype)

    def load(self, places: Array, dtype: np.dtype[Any]) -> Array:
        """The elements at places in the pool; those outside it are anything."""
        found: Array = self.memory_as(dtype).take(places, mode="clip")
        return found

    def touch(self) -> None:
        """Nothing: the stamps of writers are there."""
        self.touched = True

    def leave(self) -> None:
        """Give each launch's tensor the stamps of its own elements."""
        for shadow, start in zip(self.shadows, self.start.tolist(), strict=True):
            elements = shadow.elements
            stamps = self.writer[start : start + elements.span]
            table = elements.table if elements.numel else None
            shadow.writer, shadow.touched = stamps if table is None else stamps[table >= 0], True


class Judge(Hazards):
    """Judges the accesses of the launches, as their tracers would, and stops at the first that they would note."""

    def __init__(self, members: list[Prepared], counts: Array, pool: Pool, stamps: dict[int, Array]) -> None:
        super().__init__(members[0].observation, members[0].kernel.name, (1, 1, 1), int(counts.sum()))  # type: ignore[arg-type]
        self._members, self._pool, self._writers_of = members, pool, stamps
        self._owners = np.repeat(np.arange(len(members)), counts)
        self.owner = self._owners
        self._known: dict[int, Elements] = {}
        self._readers: set[int] = set()  # pointer arguments that are read through, and the tensors
        self._seen: set[int] = set()
        self._writers: set[int] = set()  # the same of those that are written through
        self._written: set[int] = set()

    def enter(self, linear: Array) -> None:
        """The programs of the batch that runs now."""
        super().enter(linear)
        self.owner = self._owners[linear]
        for elements in self._known.values():
            elements.forget()

    def leave(self) -> None:
        """Leave what was written where the oracles of each launch look for it."""
        for elements in self._known.values():
            if elements.touched:
                elements.leave()

    def _elements(self, origin: Any, dtype: np.dtype[Any]) -> Elements:
        found = self._known.get(origin)
        if found is None:
            shadows: list[Shadow] = []
            for member in self._members:
                tracer = member.launch.tracer
                group = tracer.groups.get(origin) if tracer is not None else None
                only = group.only if group is not None else None
                if only is None or not (
                    only.elements.dense or not only.elements.numel or only.elements.table is not None
                ):
                    raise Apart
                shadows.append(only)
            found = self._known[origin] = Elements(shadows, dtype, self._pool, self._stamps_of(dtype.itemsize))
        if found.memory.dtype.itemsize != dtype.itemsize or found.shadows[0].item != dtype.itemsize:
            raise Apart
        return found

    def _stamps_of(self, width: int) -> Array:
        """The stamp of each place of the pool, for all launches of the flight: each writes to its own places."""
        found = self._writers_of.get(width)
        if found is None:
            found = self._writers_of[width] = np.zeros(self._pool.size // width, np.int32)
        return found

    def _read(self, origin: Any, dtype: np.dtype[Any]) -> Elements:
        """The elements of tensors that hold values and that the launches do not write to."""
        elements = self._elements(origin, dtype)
        if origin not in self._readers:
            self._readers.add(origin)
            for shadow in elements.shadows:
                if not shadow.content.initialized or id(shadow) in self._written:
                    raise Apart
                self._seen.add(id(shadow))
        return elements

    def _write(self, origin: Any, dtype: np.dtype[Any]) -> Elements:
        """The elements of tensors that may be written, through this pointer alone, and that nobody reads."""
        elements = self._elements(origin, dtype)
        if origin not in self._writers:
            self._writers.add(origin)
            for shadow in elements.shadows:
                if shadow.role is Role.IN or id(shadow) in self._seen or id(shadow) in self._written:
                    raise Apart
                self._written.add(id(shadow))
            if len(set(elements.first.tolist())) < len(elements.first):
                raise Apart  # a tensor that the launcher keeps: each launch has to be looked at before the next
        return elements

    def gather(self, ptr: Array, mask: Array | None, origin: Any, dtype: np.dtype[Any]) -> Array:
        """The elements of inputs at the addresses, and anything where the mask is false."""
        elements = self._read(origin, dtype)
        if (
            mask is not None
            and mask.shape == ptr.shape
            and (not elements.pooled or _SPARSE * np.count_nonzero(mask) < mask.size)
        ):
            lanes = np.flatnonzero(mask)
            live = ptr.take(lanes)
            where = self._places(elements, live, _rows(ptr, lanes), None)
            taken = np.zeros(ptr.shape, dtype)
            taken.reshape(-1)[lanes] = elements.load(where, dtype) if elements.pooled else _fetched(live, dtype)
            return taken
        where = self._places(elements, ptr, None, mask)
        if elements.pooled:
            return elements.load(where, dtype)
        if mask is not None:
            raise Apart  # of a shape of its own: some addresses are nobody's
        return _fetched(ptr, dtype)

    def scatter(self, ptr: Array, data: Array, mask: Array | None, origin: Any, place: Place) -> bool:
        """Store the values."""
        elements = self._write(origin, data.dtype)
        if not elements.pooled:
            raise Apart
        if mask is None:
            rows = _rows(ptr, np.arange(ptr.size))
            live, values = ptr.reshape(-1), data.reshape(-1)
        else:
            lanes = np.flatnonzero(mask)
            rows, live, values = _rows(ptr, lanes), ptr.take(lanes), data.take(lanes)
        if not live.size:
            return True
        numbers = self._places(elements, live, rows, None)
        rising = ascending(numbers)
        self.write_elements(elements, numbers, self.stamps.take(rows), place, values, rising)  # type: ignore[arg-type]
        elements.memory_as(data.dtype)[places(numbers, rising)] = values
        return True

    def _places(self, elements: Elements, ptr: Array, rows: Array | None, mask: Array | None) -> Array:
        """The place of each address in the pool; the programs are `rows`, or the first axis of the addresses.

        Raises:
            Apart: an address is no element's.
        """
        columns = elements.columns(self.owner)
        if columns[0].ndim:
            if rows is None:
                shape = (-1,) + (1,) * (ptr.ndim - 1)
                columns = tuple([column.reshape(shape) for column in columns])
            else:
                columns = tuple([column.take(rows) for column in columns])
        first, span, entry, start = columns
        offsets: Array = ptr - first
        offsets >>= elements.shift
        outside = offsets.view(np.uint64) >= span
        if elements.table is not None:
            outside |= elements.table.take(offsets + entry, mode="clip") < 0
        if mask is not None:
            outside = outside & mask
        if np.count_nonzero(outside):
            raise Apart
        offsets += start
        return offsets

    def _apart(self, *_: Any, **__: Any) -> NoReturn:
        raise Apart

    read = write = atomic = overflow = _apart

    def note(self, kind: Kind, *_: Any, **__: Any) -> NoReturn:
        """An event: it is looked for launch by launch."""
        raise Apart

    def _clash(self, *_: Any) -> NoReturn:
        raise Apart


def _rows(ptr: Array, lanes: Array) -> Array:
    """The program of each lane, by its row."""
    each = ptr.size // ptr.shape[0]
    # blocks have powers of two, by which NumPy shifts in a fifth of the time of a division
    rows: Array = lanes >> (each.bit_length() - 1) if each & (each - 1) == 0 else lanes // each
    return rows


def _fetched(addresses: Array, dtype: np.dtype[Any]) -> Array:
    """The elements at addresses that were judged."""
    addresses = np.ascontiguousarray(addresses)
    every = np.ones(addresses.shape, np.bool_)
    found: Array = native.load(addresses.view(np.uint64), every, np.empty(addresses.shape, dtype), dtype)
    return found
