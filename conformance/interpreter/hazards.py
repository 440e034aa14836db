"""Hazards: what is wrong with legal accesses, given who wrote and who read each element before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.events import Event, Kind
from conformance.interpreter.ordering import Ordering
from conformance.interpreter.shadow import Shadow
from conformance.interpreter.sites import site as site_of
from conformance.observation import Observation

Array = np.ndarray[Any, Any]
Place = tuple[str, int]

# stamps are int32 and never reused: after this many programs the process would need fresh shadows
_LAST_STAMP = 2**31 - 2**24
# places for a number: up to so many, a table is filled faster than the numbers are sorted
_SPARSE = 16


class Clock:
    """Hands out the stamps of launches."""

    now = 1


@dataclasses.dataclass
class Note:
    """An event in the making, merged over lanes and programs."""

    kind: Kind
    argument: str
    detail: str
    place: Place
    index: tuple[int, ...] | None = None
    offset: int | None = None
    programs: tuple[tuple[int, int, int], ...] = ()
    count: int = 0


class Hazards:
    """The stamps of one launch, and the events found so far."""

    def __init__(self, observation: Observation, kernel: str, grid: tuple[int, int, int], programs: int) -> None:
        self.observation, self.kernel, self.grid = observation, kernel, grid
        self.notes: dict[tuple[Kind, str, Place], Note] = {}
        self.base = Clock.now
        self.many = self.base + programs + 1  # read by several programs
        Clock.now = self.many + 1
        if Clock.now > _LAST_STAMP:
            raise OverflowError("the tracer has stamped 2**31 programs: start a fresh process")
        self.stamps: Array = np.zeros(0, np.int32)  # of the running batch
        self.ordering = Ordering(self.base)

    def enter(self, linear: Array) -> None:
        """The programs of the batch that runs now."""
        self.stamps = np.add(linear, self.base + 1, dtype=np.int32, casting="unsafe")

    # notes
    def program(self, stamp: int) -> tuple[int, int, int]:
        """The program ids of a stamp of this launch."""
        number = int(stamp) - self.base - 1
        _, y, z = self.grid
        return number // (y * z), number // z % y, number % z

    def note(
        self,
        kind: Kind,
        argument: str,
        place: Place,
        count: int,
        detail: str,
        stamps: Sequence[int] = (),
        index: tuple[int, ...] | None = None,
        offset: int | None = None,
    ) -> None:
        """Add to the event of this kind, argument and line."""
        key = (kind, argument, place)
        found = self.notes.get(key)
        if found is None:
            # a value that all programs share is everybody's: the first of the batch stands for them
            programs = tuple(
                self.program(self.stamps[0] if s == self.many else s) for s in stamps if self.base < s <= self.many
            )
            found = self.notes[key] = Note(kind, argument, detail, place, index, offset, programs)
        found.count += count

    def close(self) -> None:
        """Append what was found to the observation."""
        for n in self.notes.values():
            self.observation.events.append(
                Event(
                    n.kind,
                    n.argument,
                    n.detail,
                    site=site_of(n.place),
                    index=n.index,
                    offset=n.offset,
                    programs=n.programs,
                    count=n.count,
                    kernel=self.kernel,
                )
            )
        self.notes.clear()

    # one region
    def _clash(
        self, kind: Kind, shadow: Shadow, numbers: Array, stamps: Any, others: Array, at: Array, place: Place, text: str
    ) -> None:
        lanes = np.flatnonzero(at)
        if self.ordering and kind is not Kind.UNINITIALIZED_READ:
            lanes = lanes[~self.ordering.before(others[lanes], pick(stamps, lanes))]
            if not lanes.size:
                return
        first = lanes[0]
        mine = int(stamps[first]) if isinstance(stamps, np.ndarray) else int(stamps)
        index = shadow.elements.index(int(numbers[first]))
        self.note(
            kind, shadow.name, place, len(lanes), f"element {index} {text}", [mine, int(others[first])], index=index
        )

    def read_elements(self, shadow: Shadow, numbers: Array, stamps: Any, place: Place) -> None:
        """Judge and note a load of elements."""
        if not shadow.touched:
            shadow.touch()
        writer = shadow.writer[numbers]
        if not shadow.content.initialized:
            never = writer == 0
            if never.any():
                self._clash(
                    Kind.UNINITIALIZED_READ,
                    shadow,
                    numbers,
                    stamps,
                    writer,
                    never,
                    place,
                    "is read, and nobody wrote it",
                )
        shadow.last_read = self.base
        other = (writer > self.base) & (writer != stamps)
        if other.any():
            self._clash(
                Kind.READ_AFTER_WRITE,
                shadow,
                numbers,
                stamps,
                writer,
                other,
                place,
                "is read by one program after another one wrote it",
            )
        if shadow.reader is None:
            shadow.reader = shadow.stamps()
        seen = shadow.reader[numbers]
        free = (seen <= self.base) | (seen == stamps)
        if self.ordering and not free.all():
            # an earlier reader that is ordered before this one needs no remembering
            rest = np.flatnonzero(~free)
            free[rest] = self.ordering.before(seen[rest], pick(stamps, rest))
        mark = np.where(free, stamps, self.many)
        shadow.reader[numbers] = mark
        if not isinstance(stamps, np.ndarray):
            return
        lost = shadow.reader[numbers] != mark
        if lost.any():
            shadow.reader[numbers[lost]] = self.many

    def write_elements(
        self, shadow: Shadow, numbers: Array, stamps: Any, place: Place, values: Array | None, rising: bool = False
    ) -> None:
        """Judge and note a store to elements; `rising` says that each has a larger number than the one before it."""
        if not shadow.touched:
            shadow.touch()
        if shadow.last_write == self.base:
            writer = shadow.writer[numbers]
            clash = (writer > self.base) & (writer != stamps)
            if clash.any():
                self._clash(
                    Kind.WRITE_CONFLICT, shadow, numbers, stamps, writer, clash, place, "is written by two programs"
                )
        if shadow.last_read == self.base and shadow.reader is not None:
            reader = shadow.reader[numbers]
            hazard = (reader > self.base) & (reader != stamps)
            if hazard.any():
                self._clash(
                    Kind.WRITE_AFTER_READ,
                    shadow,
                    numbers,
                    stamps,
                    reader,
                    hazard,
                    place,
                    "is written by one program after another one read it",
                )
        shadow.last_write = self.base
        rising = rising or ascending(numbers)
        shadow.writer[places(numbers, rising)] = stamps
        if rising or _distinct(numbers):
            return
        self._duplicates(shadow, numbers, stamps, place, values)

    def _duplicates(self, shadow: Shadow, numbers: Array, stamps: Any, place: Place, values: Array | None) -> None:
        """Elements that one store writes more than once."""
        order = np.argsort(numbers, kind="stable")
        n = numbers[order]
        same = np.flatnonzero(n[1:] == n[:-1])
        if not same.size:
            return
        one, two = order[same], order[same + 1]
        who = np.broadcast_to(stamps, numbers.shape)
        apart = who[one] != who[two]
        if apart.any():
            lanes = np.zeros(numbers.size, np.bool_)
            lanes[two[apart]] = True
            others = who.copy()
            others[two[apart]] = who[one[apart]]
            self._clash(
                Kind.WRITE_CONFLICT, shadow, numbers, stamps, others, lanes, place, "is written by two programs"
            )
        if values is not None:
            bits = np.ascontiguousarray(values).reshape(-1).view(f"u{values.dtype.itemsize}")
            # lanes that store one value twice leave nothing to chance
            lane = ~apart & (bits[one] != bits[two])
            if lane.any():
                lanes = np.zeros(numbers.size, np.bool_)
                lanes[two[lane]] = True
                self._clash(
                    Kind.LANE_CONFLICT,
                    shadow,
                    numbers,
                    stamps,
                    who,
                    lanes,
                    place,
                    "is given different values by two lanes of one store",
                )

    def update_elements(self, shadow: Shadow, numbers: Array, stamps: Any, place: Place) -> None:
        """Judge and note an atomic update of elements."""
        if not shadow.touched:
            shadow.touch()
        if shadow.atomic is None:
            shadow.atomic = shadow.stamps()
        writer, atomic = shadow.writer[numbers], shadow.atomic[numbers]
        if not shadow.content.initialized:
            never = writer == 0
            if never.any():
                self._clash(
                    Kind.UNINITIALIZED_READ,
                    shadow,
                    numbers,
                    stamps,
                    writer,
                    never,
                    place,
                    "is updated atomically, and nobody wrote it before",
                )
        clash = (writer > self.base) & (writer != stamps) & (atomic <= self.base)
        if clash.any():
            self._clash(
                Kind.WRITE_CONFLICT,
                shadow,
                numbers,
                stamps,
                writer,
                clash,
                place,
                "is written by one program and updated atomically by another",
            )
        shadow.last_write = self.base
        shadow.writer[numbers] = stamps
        shadow.atomic[numbers] = stamps


def ascending(numbers: Array) -> bool:
    """Whether each number is larger than the one before it."""
    return numbers.size < 2 or not np.count_nonzero(numbers[1:] <= numbers[:-1])


def _distinct(numbers: Array) -> bool:
    """Whether no number comes twice; False where it would take more to say so than to sort them."""
    low, high = numbers.item(int(numbers.argmin())), numbers.item(int(numbers.argmax()))
    if high - low >= _SPARSE * numbers.size:
        return False
    seen = np.zeros(high - low + 1, np.bool_)
    seen[numbers - low] = True
    return int(np.count_nonzero(seen)) == numbers.size


def places(numbers: Array, rising: bool) -> Any:
    """An index for ascending numbers: a slice, which NumPy fills faster, where none is left out."""
    if rising and numbers.size and numbers.item(-1) - numbers.item(0) == numbers.size - 1:
        return slice(numbers.item(0), numbers.item(-1) + 1)
    return numbers


def pick(stamps: Any, lanes: Array) -> Any:
    """The stamps of some lanes; one stamp stands for all."""
    return stamps[lanes] if isinstance(stamps, np.ndarray) else stamps
