"""What is known of each element of a region: who wrote it, who read it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from conformance.interpreter.membership import View
from conformance.regions import Region

Array = np.ndarray[Any, Any]


class _Memory:
    """Bytes at an address, as NumPy asks for them."""

    def __init__(self, address: int, elements: int, dtype: np.dtype[Any]) -> None:
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (elements,),
            "typestr": dtype.str,
            "version": 3,
        }


class Shadow:
    """Stamps of one region's elements, kept over the launches of a call.

    A stamp is the number of a program, unique over the life of the process; stamps of earlier launches are smaller
    than any of the running one. 0 means never, so that the shadow of memory nobody touched is never committed.
    """

    __slots__ = (
        "_memory", "atomic", "content", "elements", "first", "item", "last", "last_read", "last_write", "name",
        "reader", "role", "shift", "touched", "view", "writer",
    )  # fmt: skip

    def __init__(self, region: Region) -> None:
        self.name, self.role, self.content = region.name, region.role, region.content
        self.view = View(region.tensor)
        view = self.view
        self.elements = view.elements
        self.first, self.last, self.item = view.first, view.last, view.item
        self.shift = self.item.bit_length() - 1  # of an item of a power of two
        self.touched = False
        self.reader: Array | None = None
        self.atomic: Array | None = None
        self.last_write = self.last_read = 0  # the newest launch, by its first stamp, that wrote and that read
        self._memory: Array | None = None

    def memory(self, dtype: np.dtype[Any]) -> Array:
        """The memory from the first element to the last, as an array of a type of their width."""
        if self._memory is None or self._memory.dtype != dtype:
            self._memory = np.asarray(_Memory(self.first, self.elements.span, dtype))
        return self._memory

    @classmethod
    def of(cls, region: Region) -> Shadow:
        """The region's shadow, made when the region is first met."""
        shadow = region.shadow
        if not isinstance(shadow, Shadow):
            shadow = region.shadow = cls(region)
        return shadow

    def touch(self) -> None:
        """Make the stamps of writers; few tensors need the others."""
        self.writer = self.stamps()
        self.touched = True

    def stamps(self) -> Array:
        """A stamp for each element, which says never."""
        return np.zeros(self.elements.size, np.int32)

    def unwritten(self, tensor: torch.Tensor) -> tuple[int, tuple[int, ...] | None]:
        """How many elements of `tensor`, a view into the region, no launch has written, and the index of the first."""
        own = self.content.tensor
        if tensor.data_ptr() == own.data_ptr() and tensor.shape == own.shape and tensor.stride() == own.stride():
            return self.missing()
        addresses = np.zeros((1,) * tensor.ndim, np.int64) + tensor.data_ptr()
        for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            steps = np.arange(size, dtype=np.int64) * (stride * tensor.element_size())
            addresses = addresses + steps.reshape((-1,) + (1,) * (tensor.ndim - 1 - axis))
        numbers = self.view.numbers(addresses)
        missing = numbers >= 0 if not self.touched else (numbers >= 0) & (self.writer[numbers] == 0)
        count = int(np.count_nonzero(missing))
        return count, tuple(int(i) for i in np.argwhere(missing)[0]) if count else None

    def missing(self) -> tuple[int, tuple[int, ...] | None]:
        """How many logical elements no launch has written, and the index of the first.

        Elements that share memory count once. Launches of the running observation and of earlier ones count alike.
        """
        size = self.elements.size
        if not size:
            return 0, None
        if not self.touched:
            return size, self.elements.index(0)
        if size <= 1 << 20 and self.writer.all():
            return 0, None
        missing, first = 0, None
        for start in range(0, size, 1 << 20):
            part = self.writer[start : start + (1 << 20)] == 0
            found = int(np.count_nonzero(part))
            if found and first is None:
                first = self.elements.index(start + int(np.argmax(part)))
            missing += found
        return missing, first


def unwritten(region: Region) -> tuple[int, tuple[int, ...] | None]:
    """How many logical elements of a region no launch has written, and the index of the first."""
    return Shadow.of(region).missing()
