"""What is known of each byte of a storage: element or gap, written or not, and who may write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from conformance.emulator.abi import ELEMENT, INIT, TRACKED, WRITABLE, SpaceStruct
from conformance.memory import lazy
from conformance.poison import LIMIT
from conformance.regions import Arena, Region, Role


class Shadow:
    """The state bytes of the part of one storage that its regions span; lives on `Region.shadow` of each of them.

    It holds none of them: a cycle would keep every call's tensors until the garbage collector comes. `stopped` says
    that a launch on this memory was abandoned: what is unwritten then means nothing.
    """

    def __init__(self, regions: Sequence[Region]) -> None:
        self.count = len(regions)
        placed = [(region, _start(region.tensor), _span(region.tensor)) for region in regions]
        self.low = min([start for _, start, _ in placed])
        high = max([start + span for _, start, span in placed])
        self.size = max(0, high - self.low)
        storage = regions[0].tensor.untyped_storage()
        base = storage.data_ptr()
        self.margins = (self.low - base, max(0, base + storage.nbytes() - high))
        self.stopped = False
        self._filled: set[int] = set()
        self.state = _clear(self.size)
        flags, grain = 0, 4
        for region, start, _ in placed:
            tensor = region.tensor
            if region.role is Role.IN:
                bits = ELEMENT
            else:
                bits, flags = ELEMENT | WRITABLE, TRACKED
            grain = min(grain, tensor.element_size())
            if _holds_values(region):
                bits |= INIT
                self._filled.add(id(region))
            self._mark(tensor, start, bits)
            if previous := region.shadow if isinstance(region.shadow, Shadow) else None:
                self._elements(tensor)[...] |= previous._elements(tensor) & INIT
            region.shadow = self
        states = self.state.__array_interface__["data"][0]  # a third of the time of `.ctypes.data`
        # the structure that the runtime reads
        self.space = SpaceStruct(self.low, self.size, *self.margins, states, grain, flags)
        self.begin, self.end = base, high + self.margins[1]  # of the storage

    def holds(self, address: int) -> bool:
        """Whether the address lies in the storage."""
        return self.begin <= address < self.end

    def refresh(self, regions: Sequence[Region]) -> None:
        """Take in that one of its regions holds values now (the launcher filled it between two launches)."""
        for region in regions:
            if id(region) not in self._filled and _holds_values(region):
                self._mark(region.tensor, _start(region.tensor), INIT)
                self._filled.add(id(region))

    def unwritten(self, tensor: torch.Tensor) -> tuple[int, tuple[int, ...] | None]:
        """How many elements of `tensor` hold no value, and the logical index of the first."""
        if self.stopped or tensor.numel() == 0:
            return 0, None
        missing = ((self._elements(tensor) & INIT) == 0).any(axis=-1)
        count = int(missing.sum())
        return count, tuple(int(i) for i in np.argwhere(missing)[0]) if count else None

    def _mark(self, tensor: torch.Tensor, start: int, bits: int) -> None:
        """Add the bits to the elements of a tensor whose first one lies at `start`."""
        if tensor.is_contiguous():  # most are, and a slice costs a tenth of a strided view
            first = start - self.low
            self.state[first : first + tensor.numel() * tensor.element_size()] |= bits
        else:
            self._elements(tensor)[...] |= bits

    def _elements(self, tensor: torch.Tensor) -> npt.NDArray[np.uint8]:
        """The state bytes of the elements: the tensor's shape, and one axis more for the bytes of an element."""
        size = tensor.element_size()
        start = _start(tensor) - self.low
        return np.lib.stride_tricks.as_strided(
            self.state[start:],
            shape=(*tensor.shape, size),
            strides=(*(s * size for s in tensor.stride()), 1),
            writeable=True,
        )


def _holds_values(region: Region) -> bool:
    return region.role is Role.IN or region.role is Role.INOUT or region.initialized


def _clear(size: int) -> npt.NDArray[np.uint8]:
    """Zeros. NumPy asks for huge pages above 4 MiB: 2 MiB each for a row of a huge stride that touches one byte."""
    if size <= LIMIT:
        return np.zeros(size, dtype=np.uint8)
    states: npt.NDArray[np.uint8] = lazy(size, torch.uint8, torch.device("cpu")).numpy()
    return states


class Storage(NamedTuple):
    """A storage that a launch may touch: the shadow of the part that its regions span, and these."""

    shadow: Shadow
    regions: Sequence[Region]


def storages(arena: Arena) -> list[Storage]:
    """The storages of an arena; their shadows are made where they are missing."""
    found = []
    for regions in arena.storages():
        known = regions[0].shadow
        if isinstance(known, Shadow) and known.count == len(regions):
            known.refresh(regions)
            found.append(Storage(known, regions))
        else:
            found.append(Storage(Shadow(regions), regions))
    return found


def unknown(tensor: torch.Tensor, name: str) -> Storage:
    """The storage of a tensor that no arena knows: all of it is filled and writable."""
    storage = tensor.untyped_storage()
    if tensor.numel() * tensor.element_size() < storage.nbytes() or not tensor.is_contiguous():
        tensor = torch.empty(0, dtype=torch.uint8).set_(storage)
    regions = [Region(name, tensor, Role.SCRATCH, initialized=True)]
    return Storage(Shadow(regions), regions)


def unwritten(region: Region) -> tuple[int, tuple[int, ...] | None]:
    """How many elements of the region no launch has written (and the launcher did not fill), and the first one's index.

    `(0, None)` for a region that no CUDA launch has seen, and after a launch that was abandoned.
    """
    return region.shadow.unwritten(region.tensor) if isinstance(region.shadow, Shadow) else (0, None)


def locate(regions: Iterable[Region], address: int) -> tuple[Region, tuple[int, ...] | None, int]:
    """The region that an address belongs to or is nearest to, the logical index of its element, and its byte offset."""
    best: tuple[int, Region, tuple[int, ...] | None] | None = None
    for region in regions:
        start, span = _start(region.tensor), _span(region.tensor)
        index = _index(region.tensor, address - start)
        distance = -1 if index is not None else max(start - address, address - (start + span) + 1, 0)
        if best is None or distance < best[0]:
            best = (distance, region, index)
    if best is None:
        raise ValueError("no region to locate an address in")
    return best[1], best[2], address - _start(best[1].tensor)


def _index(tensor: torch.Tensor, offset: int) -> tuple[int, ...] | None:
    """The logical index of the element at a byte offset, None between elements (exact where none overlap)."""
    if offset < 0 or tensor.numel() == 0:
        return None
    rest = offset // tensor.element_size()
    index = [0] * tensor.dim()
    strides = [int(s) for s in tensor.stride()]
    for axis in sorted(range(len(strides)), key=strides.__getitem__, reverse=True):
        if strides[axis] > 0 and tensor.shape[axis] > 1:
            index[axis] = min(rest // strides[axis], tensor.shape[axis] - 1)
            rest -= index[axis] * strides[axis]
    return tuple(index) if rest == 0 else None


def _start(tensor: torch.Tensor) -> int:
    if tensor.data_ptr():
        return int(tensor.data_ptr())
    return int(tensor.untyped_storage().data_ptr() + tensor.storage_offset() * tensor.element_size())


def _span(tensor: torch.Tensor) -> int:
    if tensor.numel() == 0:
        return 0
    if tensor.is_contiguous():
        return int(tensor.numel()) * tensor.element_size()
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return int(last + 1) * tensor.element_size()
