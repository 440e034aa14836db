"""The tracer: every address of a launch is judged, and illegal lanes are taken out before memory is touched."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.events import Event, Kind
from conformance.interpreter.ordering import Ordering
from conformance.interpreter.overflow import Taint
from conformance.interpreter.shadow import Shadow
from conformance.interpreter.sites import site as site_of
from conformance.observation import Observation
from conformance.regions import Role

Array = np.ndarray[Any, Any]
Place = tuple[str, int]

# stamps are int32 and never reused: after this many programs the process would need fresh shadows
_LAST_STAMP = 2**31 - 2**24


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


class Group:
    """The regions in the storage of one pointer argument."""

    __slots__ = ("aligned", "name", "shadows", "simple")

    def __init__(self, name: str, shadows: Sequence[Shadow], address: int) -> None:
        self.name, self.shadows = name, shadows
        self.simple = shadows[0] if len(shadows) == 1 and shadows[0].dense else None
        if self.simple is not None and (address - self.simple.first) % self.simple.item:
            self.simple = None

    def nearest(self) -> Shadow:
        """The region that an address outside all of them is reported for."""
        for shadow in self.shadows:
            if shadow.name == self.name:
                return shadow
        return self.shadows[0]


class Tracer:
    """Judges the accesses of one launch and collects what is wrong with them."""

    def __init__(self, observation: Observation, kernel: str, grid: tuple[int, int, int], programs: int) -> None:
        self.observation, self.kernel, self.grid = observation, kernel, grid
        self.groups: dict[int, Group] = {}
        self.notes: dict[tuple[Kind, str, Place], Note] = {}
        self.base = Clock.now
        self.many = self.base + programs + 1  # read by several programs
        Clock.now = self.many + 1
        if Clock.now > _LAST_STAMP:
            raise OverflowError("the tracer has stamped 2**31 programs: start a fresh process")
        self.stamps: Array = np.zeros(0, np.int32)  # of the running batch
        self.everything: list[Shadow] | None = None
        self.ordering = Ordering(self.base)

    def enter(self, linear: Array) -> None:
        """The programs of the batch that runs now."""
        self.stamps = (linear + (self.base + 1)).astype(np.int32)

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

    # accesses
    def read(self, ptr: Array, mask: Array | None, width: int, origin: Any, place: Place) -> Array | None:
        """The lanes that may be read; None for all of them."""
        live = ptr.reshape(-1) if mask is None else ptr[mask]
        if not live.size:
            return mask
        group = self.groups.get(origin) if type(origin) is int else None
        if group is not None:
            shadow = group.simple
            if (
                shadow is not None
                and shadow.item == width
                and live.min() >= shadow.first
                and live.max() <= shadow.last
            ):
                if shadow.region.role is not Role.IN:
                    self._read(shadow, (live - shadow.first) // width, self._stamps(ptr, mask), place)
                return mask
        return self._judge("read", ptr, mask, live, width, origin, place, None)

    def write(
        self, ptr: Array, data: Array, mask: Array | None, width: int, origin: Any, place: Place
    ) -> Array | None:
        """The lanes that may be written; None for all of them."""
        live = ptr.reshape(-1) if mask is None else ptr[mask]
        if not live.size:
            return mask
        if data.dtype.itemsize != width:
            self.note(
                Kind.ACCESS_WIDTH,
                self._name(origin),
                place,
                live.size,
                f"values of {data.dtype.itemsize} bytes are stored through a pointer to {width} bytes",
            )
        group = self.groups.get(origin) if type(origin) is int else None
        if group is not None:
            shadow = group.simple
            if (
                shadow is not None
                and shadow.item == width
                and shadow.region.role is not Role.IN
                and live.min() >= shadow.first
                and live.max() <= shadow.last
            ):
                numbers = (live - shadow.first) // width
                self._write(shadow, numbers, self._stamps(ptr, mask), place, data if mask is None else data[mask])
                return mask
        return self._judge("write", ptr, mask, live, width, origin, place, data)

    def atomic(
        self, ptr: Array, mask: Array | None, width: int, origin: Any, place: Place, ordered: bool
    ) -> Array | None:
        """The lanes that may be updated; None for all of them."""
        live = ptr.reshape(-1) if mask is None else ptr[mask]
        if not live.size:
            return mask
        legal = self._judge("atomic", ptr, mask, live, width, origin, place, None)
        if ordered:
            self.ordering.add(live, self._stamps(ptr, mask))
        return legal

    def overflow(self, taint: Taint, mask: Array | None, ptr: Array, origin: Any) -> None:
        """An address that an overflowed offset led to."""
        lanes = np.broadcast_to(taint.lanes, ptr.shape)
        if mask is not None:
            lanes = lanes & mask
        if lanes.any():
            stamps = self._stamps(ptr, lanes)
            first = int(np.ravel(stamps)[0])
            name = self._name(origin)
            self.note(
                Kind.OVERFLOW, name, taint.place, int(np.count_nonzero(lanes)),
                f"{taint.detail}, in the offset of an address of {name}", [first],
            )

    def _name(self, origin: Any) -> str:
        group = self.groups.get(origin) if type(origin) is int else None
        return group.nearest().name if group is not None else "?"

    def _stamps(self, ptr: Array, mask: Array | None) -> Any:
        """The stamp of every live lane, or one number where all lanes have the same."""
        stamps = self.stamps
        rows = ptr.shape[0]
        if rows == 1:
            return int(stamps[0]) if len(stamps) == 1 else self.many
        if mask is None:
            return np.repeat(stamps, ptr.size // rows)
        return np.broadcast_to(stamps.reshape(rows, *(1,) * (ptr.ndim - 1)), ptr.shape)[mask]

    def _judge(
        self,
        kind: str,
        ptr: Array,
        mask: Array | None,
        live: Array,
        width: int,
        origin: Any,
        place: Place,
        data: Array | None,
    ) -> Array | None:
        stamps = self._stamps(ptr, mask)
        values = None if data is None else (data.reshape(-1) if mask is None else data[mask])
        good = np.zeros(live.size, np.bool_)
        if isinstance(origin, np.ndarray):
            chosen = np.broadcast_to(origin, ptr.shape)
            chosen = chosen.reshape(-1) if mask is None else chosen[mask]
            for number in np.unique(chosen):
                here = np.flatnonzero(chosen == number)
                good[here] = self._judge_group(
                    kind,
                    self.groups.get(int(number)),
                    live[here],
                    _pick(stamps, here),
                    width,
                    place,
                    None if values is None else values[here],
                )
        else:
            group = self.groups.get(origin) if origin is not None else None
            good = self._judge_group(kind, group, live, stamps, width, place, values)
        if good.all():
            return mask
        legal = np.zeros(ptr.shape, np.bool_)
        if mask is None:
            legal.reshape(-1)[:] = good
        else:
            legal[mask] = good
        return legal

    def _judge_group(
        self,
        kind: str,
        group: Group | None,
        live: Array,
        stamps: Any,
        width: int,
        place: Place,
        values: Array | None,
    ) -> Array:
        shadows: Sequence[Shadow]
        if group is not None:
            shadows = group.shadows
        else:
            if self.everything is None:
                known = {id(r): Shadow.of(r) for r in self.observation.arena}
                self.everything = list(known.values())
            shadows = self.everything
        good = np.zeros(live.size, np.bool_)
        for shadow in shadows:
            rest = np.flatnonzero(~good) if good.any() else None
            addresses = live if rest is None else live[rest]
            if not addresses.size:
                break
            steps = range(0, max(width, 1), shadow.item) if width > shadow.item else (0,)
            numbers = [shadow.view.numbers(addresses - addresses % shadow.item % width + k if width < shadow.item
                                           else addresses + k) for k in steps]
            inside = np.logical_and.reduce([n >= 0 for n in numbers])
            if not inside.any():
                continue
            lanes = np.flatnonzero(inside) if rest is None else rest[inside]
            good[lanes] = True
            for n in numbers:
                self._touch(kind, shadow, n[inside], _pick(stamps, lanes), place, None if values is None else values[lanes])
        if not good.all():
            self._illegal(kind, group, live, stamps, ~good, width, place)
        return good

    def _illegal(
        self, kind: str, group: Group | None, live: Array, stamps: Any, bad: Array, width: int, place: Place
    ) -> None:
        verb = "read" if kind == "read" else "write"
        lanes = np.flatnonzero(bad)
        first = int(lanes[0])
        who = [int(_pick(stamps, lanes[:1])[0])] if isinstance(stamps, np.ndarray) else [int(stamps)]
        count = len(lanes)
        if group is None:
            self.note(
                Kind.WILD_POINTER,
                "?",
                place,
                count,
                f"{verb} of {width} bytes through address {int(live[first]):#x}, which is in no tensor of this call",
                who,
            )
            return
        shadow = group.nearest()
        size = shadow.last + shadow.item - shadow.first if shadow.view.numel else 0
        inside = (live[lanes] >= shadow.first) & (live[lanes] < shadow.first + size)
        kinds = _ILLEGAL[verb]
        for chosen, event, where in ((inside, kinds[0], "between"), (~inside, kinds[1], "outside")):
            if not chosen.any():
                continue
            lane = lanes[chosen][:1]
            offset = int(live[lane[0]]) - shadow.first
            stamp = int(np.ravel(_pick(stamps, lane))[0])
            self.note(
                event,
                shadow.name,
                place,
                int(np.count_nonzero(chosen)),
                f"{verb} of {width} bytes at byte offset {offset}, {where} the elements; the tensor of shape "
                f"{shadow.view.shape} with strides {shadow.view.strides} spans {size} bytes",
                [stamp],
                offset=offset,
            )

    def _touch(
        self, kind: str, shadow: Shadow, numbers: Array, stamps: Any, place: Place, values: Array | None
    ) -> None:
        if kind == "read":
            if shadow.region.role is not Role.IN:
                self._read(shadow, numbers, stamps, place)
            return
        if shadow.region.role is Role.IN:
            self.note(
                Kind.INPUT_WRITE,
                shadow.name,
                place,
                numbers.size,
                f"{shadow.name} is an input, and the kernel writes to it",
                [int(np.ravel(stamps)[0])],
                index=shadow.view.index(int(numbers[0])),
            )
            return
        if kind == "write":
            self._write(shadow, numbers, stamps, place, values)
        else:
            self._update(shadow, numbers, stamps, place)

    # one region
    def _clash(
        self, kind: Kind, shadow: Shadow, numbers: Array, stamps: Any, others: Array, at: Array, place: Place, text: str
    ) -> None:
        lanes = np.flatnonzero(at)
        if self.ordering and kind is not Kind.UNINITIALIZED_READ:
            lanes = lanes[~self.ordering.before(others[lanes], _pick(stamps, lanes))]
            if not lanes.size:
                return
        first = lanes[0]
        mine = int(stamps[first]) if isinstance(stamps, np.ndarray) else int(stamps)
        index = shadow.view.index(int(numbers[first]))
        self.note(
            kind, shadow.name, place, len(lanes), f"element {index} {text}", [mine, int(others[first])], index=index
        )

    def _read(self, shadow: Shadow, numbers: Array, stamps: Any, place: Place) -> None:
        if not shadow.touched:
            shadow.touch()
        writer = shadow.writer[numbers]
        if not shadow.region.initialized:
            never = writer == 0
            if never.any():
                self._clash(
                    Kind.UNINITIALIZED_READ, shadow, numbers, stamps, writer, never, place, "is read, and nobody wrote it"
                )
        other = (writer > self.base) & (writer != stamps)
        if other.any():
            self._clash(
                Kind.READ_AFTER_WRITE, shadow, numbers, stamps, writer, other, place,
                "is read by one program after another one wrote it",
            )
        seen = shadow.reader[numbers]
        free = (seen <= self.base) | (seen == stamps)
        if self.ordering and not free.all():
            # an earlier reader that is ordered before this one needs no remembering
            rest = np.flatnonzero(~free)
            free[rest] = self.ordering.before(seen[rest], _pick(stamps, rest))
        mark = np.where(free, stamps, self.many)
        shadow.reader[numbers] = mark
        if not isinstance(stamps, np.ndarray):
            return
        lost = shadow.reader[numbers] != mark
        if lost.any():
            shadow.reader[numbers[lost]] = self.many

    def _write(self, shadow: Shadow, numbers: Array, stamps: Any, place: Place, values: Array | None) -> None:
        if not shadow.touched:
            shadow.touch()
        writer = shadow.writer[numbers]
        clash = (writer > self.base) & (writer != stamps)
        if clash.any():
            self._clash(
                Kind.WRITE_CONFLICT, shadow, numbers, stamps, writer, clash, place, "is written by two programs"
            )
        reader = shadow.reader[numbers]
        hazard = (reader > self.base) & (reader != stamps)
        if hazard.any():
            self._clash(
                Kind.WRITE_AFTER_READ, shadow, numbers, stamps, reader, hazard, place,
                "is written by one program after another one read it",
            )
        shadow.writer[numbers] = stamps
        if numbers.size < 2 or (numbers[1:] > numbers[:-1]).all():
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
            self._clash(Kind.WRITE_CONFLICT, shadow, numbers, stamps, others, lanes, place, "is written by two programs")
        if values is not None:
            bits = np.ascontiguousarray(values).reshape(-1).view(f"u{values.dtype.itemsize}")
            # lanes that store one value twice leave nothing to chance
            lane = ~apart & (bits[one] != bits[two])
            if lane.any():
                lanes = np.zeros(numbers.size, np.bool_)
                lanes[two[lane]] = True
                self._clash(
                    Kind.LANE_CONFLICT, shadow, numbers, stamps, who, lanes, place,
                    "is given different values by two lanes of one store",
                )

    def _update(self, shadow: Shadow, numbers: Array, stamps: Any, place: Place) -> None:
        if not shadow.touched:
            shadow.touch()
        writer, atomic = shadow.writer[numbers], shadow.atomic[numbers]
        if not shadow.region.initialized:
            never = writer == 0
            if never.any():
                self._clash(
                    Kind.UNINITIALIZED_READ, shadow, numbers, stamps, writer, never, place,
                    "is updated atomically, and nobody wrote it before",
                )
        clash = (writer > self.base) & (writer != stamps) & (atomic <= self.base)
        if clash.any():
            self._clash(
                Kind.WRITE_CONFLICT, shadow, numbers, stamps, writer, clash, place,
                "is written by one program and updated atomically by another",
            )
        shadow.writer[numbers] = stamps
        shadow.atomic[numbers] = stamps


_ILLEGAL = {
    "read": (Kind.GAP_READ, Kind.OUT_OF_BOUNDS_READ),
    "write": (Kind.GAP_WRITE, Kind.OUT_OF_BOUNDS_WRITE),
}


def _pick(stamps: Any, lanes: Array) -> Any:
    return stamps[lanes] if isinstance(stamps, np.ndarray) else stamps
