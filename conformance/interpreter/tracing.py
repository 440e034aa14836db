"""The tracer: every address of a launch is judged, and illegal lanes are taken out before memory is touched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.events import Kind
from conformance.interpreter.hazards import Array, Hazards, Place, ascending, pick, places
from conformance.interpreter.overflow import Taint
from conformance.interpreter.shadow import Shadow
from conformance.observation import Observation
from conformance.regions import Role

_ILLEGAL = {
    "read": (Kind.GAP_READ, Kind.OUT_OF_BOUNDS_READ),
    "write": (Kind.GAP_WRITE, Kind.OUT_OF_BOUNDS_WRITE),
}


class Group:
    """The regions in the storage of one pointer argument.

    `only` is the region if there is one alone, and the pointer points at an element of it or a whole number of elements
    beside it.
    """

    __slots__ = ("name", "only", "shadows")

    def __init__(self, name: str, shadows: Sequence[Shadow], address: int) -> None:
        self.name, self.shadows = name, shadows
        self.only = shadows[0] if len(shadows) == 1 else None
        if self.only is not None:
            item = self.only.item
            if (address - self.only.first) % item or item & (item - 1):
                self.only = None

    def nearest(self) -> Shadow:
        """The region that an address outside all of them is reported for."""
        for shadow in self.shadows:
            if shadow.name == self.name:
                return shadow
        return self.shadows[0]


class Tracer(Hazards):
    """Judges the accesses of one launch and collects what is wrong with them."""

    def __init__(self, observation: Observation, kernel: str, grid: tuple[int, int, int], programs: int) -> None:
        super().__init__(observation, kernel, grid, programs)
        self.groups: dict[int, Group] = {}
        self.everything: list[Shadow] | None = None

    # accesses
    def gather(self, ptr: Array, mask: Array | None, origin: int | None, dtype: np.dtype[Any]) -> Array | None:
        """The elements of an input at the addresses, and anything where the mask is false.

        None unless every address is an element's: then `read` has to judge them.
        """
        shadow = self._only(origin, dtype)
        if shadow is None or shadow.role is not Role.IN:
            return None
        offsets = (ptr - shadow.first) >> shadow.shift
        outside = offsets.view(np.uint64) >= shadow.elements.span
        table = shadow.elements.table
        if table is not None:
            outside |= table.take(offsets, mode="clip") < 0
        if mask is not None:
            outside = outside & mask
        if np.count_nonzero(outside):
            return None
        elements: Array = shadow.memory(dtype).take(offsets, mode="clip")
        return elements

    def scatter(self, ptr: Array, data: Array, mask: Array | None, origin: int | None, place: Place) -> bool:
        """Whether the values were stored: True where every address is an element's of a tensor that may be written."""
        shadow = self._only(origin, data.dtype)
        if shadow is None or shadow.role is Role.IN:
            return False
        rows, live, values, lanes = ptr.shape[0], ptr.reshape(-1), data.reshape(-1), None
        if mask is not None:
            lanes = np.flatnonzero(mask)
            count = lanes.size
            if count and lanes.item(-1) == count - 1:  # the first lanes, as where a block is longer than a tensor
                live, values = live[:count], values[:count]
            else:
                live, values = live.take(lanes), values.take(lanes)
        if not live.size:
            return True
        offsets = (live - shadow.first) >> shadow.shift
        rising, span = ascending(offsets), shadow.elements.span
        if rising:
            if offsets.item(0) < 0 or offsets.item(-1) >= span:
                return False
        elif np.count_nonzero(offsets.view(np.uint64) >= span):
            return False
        table, numbers = shadow.elements.table, offsets
        if table is not None:
            numbers = table.take(offsets)
            if np.count_nonzero(numbers < 0):
                return False
        every = rows == 1 or lanes is None
        stamps = self._stamps(ptr, None) if every else self.stamps.take(lanes // (ptr.size // rows))
        self.write_elements(shadow, numbers, stamps, place, values, rising)
        shadow.memory(data.dtype)[places(offsets, rising)] = values
        return True

    def _only(self, origin: int | None, dtype: np.dtype[Any]) -> Shadow | None:
        """The region of a pointer argument whose elements have the width of `dtype`, if it is the only one there."""
        group = self.groups.get(origin)  # type: ignore[arg-type]
        shadow = group.only if group is not None else None
        if shadow is None or shadow.item != dtype.itemsize or not shadow.elements.numel:
            return None
        table = shadow.elements.table
        return shadow if table is not None or shadow.elements.dense else None

    def read(self, ptr: Array, mask: Array | None, width: int, origin: Any, place: Place) -> Array | None:
        """The lanes that may be read; None for all of them."""
        live = ptr.reshape(-1) if mask is None else ptr[mask]
        if not live.size:
            return mask
        return self._judge("read", ptr, mask, live, width, origin, place, None)

    def write(self, ptr: Array, data: Array, mask: Array | None, width: int, origin: Any, place: Place) -> Array | None:
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
        return self._judge("write", ptr, mask, live, width, origin, place, data)

    def atomic(
        self, ptr: Array, mask: Array | None, width: int, origin: Any, place: Place, ordered: bool, writes: bool = True
    ) -> Array | None:
        """The lanes that may be updated; None for all of them. Without `writes`, an atomic load."""
        live = ptr.reshape(-1) if mask is None else ptr[mask]
        if not live.size:
            return mask
        legal = self._judge("atomic" if writes else "poll", ptr, mask, live, width, origin, place, None)
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
                Kind.OVERFLOW,
                name,
                taint.place,
                int(np.count_nonzero(lanes)),
                f"{taint.detail}, in the offset of an address of {name}",
                [first],
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
                    pick(stamps, here),
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
            numbers = [
                shadow.view.numbers(
                    addresses - addresses % shadow.item % width + k if width < shadow.item else addresses + k
                )
                for k in steps
            ]
            inside = np.logical_and.reduce([n >= 0 for n in numbers])
            if not inside.any():
                continue
            lanes = np.flatnonzero(inside) if rest is None else rest[inside]
            good[lanes] = True
            for n in numbers:
                self._touch(
                    kind, shadow, n[inside], pick(stamps, lanes), place, None if values is None else values[lanes]
                )
        if not good.all():
            self._illegal(kind, group, live, stamps, ~good, width, place)
        return good

    def _illegal(
        self, kind: str, group: Group | None, live: Array, stamps: Any, bad: Array, width: int, place: Place
    ) -> None:
        verb = "read" if kind in ("read", "poll") else "write"
        lanes = np.flatnonzero(bad)
        first = int(lanes[0])
        who = [int(pick(stamps, lanes[:1])[0])] if isinstance(stamps, np.ndarray) else [int(stamps)]
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
        size = shadow.last + shadow.item - shadow.first if shadow.elements.numel else 0
        inside = (live[lanes] >= shadow.first) & (live[lanes] < shadow.first + size)
        kinds = _ILLEGAL[verb]
        for chosen, event, where in ((inside, kinds[0], "between"), (~inside, kinds[1], "outside")):
            if not chosen.any():
                continue
            lane = lanes[chosen][:1]
            offset = int(live[lane[0]]) - shadow.first
            stamp = int(np.ravel(pick(stamps, lane))[0])
            self.note(
                event,
                shadow.name,
                place,
                int(np.count_nonzero(chosen)),
                f"{verb} of {width} bytes at byte offset {offset}, {where} the elements; the tensor of shape "
                f"{shadow.elements.shape} with strides {shadow.elements.strides} spans {size} bytes",
                [stamp],
                offset=offset,
            )

    def _touch(
        self, kind: str, shadow: Shadow, numbers: Array, stamps: Any, place: Place, values: Array | None
    ) -> None:
        if kind == "read":
            if shadow.role is not Role.IN:
                self.read_elements(shadow, numbers, stamps, place)
            return
        if kind == "poll":
            return
        if shadow.role is Role.IN:
            self.note(
                Kind.INPUT_WRITE,
                shadow.name,
                place,
                numbers.size,
                f"{shadow.name} is an input, and the kernel writes to it",
                [int(np.ravel(stamps)[0])],
                index=shadow.elements.index(int(numbers[0])),
            )
            return
        if kind == "write":
            self.write_elements(shadow, numbers, stamps, place, values)
        else:
            self.update_elements(shadow, numbers, stamps, place)
