"""The tensors that a launch may touch, and what it may do with each."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Collection, Iterator
from typing import Protocol

import torch


class Role(str, enum.Enum):
    """What a kernel may do with a tensor: IN is only read; OUT is written, and read only where written before."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"
    SCRATCH = "scratch"  # a temporary of the launcher: as OUT, and need not be written


class Shadow(Protocol):
    """What an observer keeps on `Region.shadow`."""

    def unwritten(self, tensor: torch.Tensor) -> tuple[int, tuple[int, ...] | None]:
        """How many elements of a view into the region no launch has written, and the index of the first."""
        ...


class Content:
    """Whether a tensor's elements hold values that no kernel wrote."""

    __slots__ = ("_filled", "_version", "tensor")

    def __init__(self, tensor: torch.Tensor, filled: bool) -> None:
        self.tensor, self._filled, self._version = tensor, filled, _version(tensor)

    @property
    def initialized(self) -> bool:
        """Whether values were given at the start, or by a torch operation since.

        Torch counts its own in-place writes in the tensor's version (shared by its views); kernels write through raw
        pointers and do not.
        """
        return self._filled or _version(self.tensor) != self._version


class Region:
    """One tensor that kernels may touch: the logical elements of `tensor`, not its storage.

    An observer keeps its own shadow of the region in `shadow`, which lives as long as the region: a kernel that
    launches twice may read in the second launch what the first one wrote. A shadow does not hold its region: in such a
    circle tensors would stay until Python looks for circles.
    """

    __slots__ = ("content", "name", "role", "shadow", "tensor")

    def __init__(self, name: str, tensor: torch.Tensor, role: Role, initialized: bool) -> None:
        self.name = name
        self.tensor = tensor
        self.role = role
        self.content = Content(tensor, initialized)
        self.shadow: Shadow | None = None

    @property
    def initialized(self) -> bool:
        """Whether the elements hold values that no kernel wrote."""
        return self.content.initialized


def _version(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version  # inference tensors have no counter


class Arena:
    """The regions of one call, found by the storage that a pointer's tensor lies in."""

    def __init__(self) -> None:
        self._by_storage: dict[int, list[Region]] = {}

    def add(self, region: Region) -> Region:
        """The region, registered under its storage."""
        self._by_storage.setdefault(region.tensor.untyped_storage().data_ptr(), []).append(region)
        return region

    def find(self, tensor: torch.Tensor) -> list[Region]:
        """The regions in the storage of `tensor` (several where arguments alias), empty for an unknown tensor."""
        return self._by_storage.get(tensor.untyped_storage().data_ptr(), [])

    def storages(self) -> Collection[list[Region]]:
        """The regions, in one list for each storage."""
        return self._by_storage.values()

    def version(self) -> int:
        """A number that grows whenever torch writes to a tensor of the call."""
        return sum(_version(region.tensor) for region in self)

    def __iter__(self) -> Iterator[Region]:
        return itertools.chain.from_iterable(self._by_storage.values())
