"""Which element of a tensor an address is: exact for every view, however strided, expanded or overlapping."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

# spans up to this many elements are looked up in a table (4 MiB of int32), longer ones by arithmetic
_TABLE = 1 << 20
# of tensors up to this size, with strides up to this, many calls of a run have the same shape and strides
_SHARED = 1 << 13


class Elements:
    """The offsets of a tensor's logical elements from the first, in elements. Elements are numbered; `index` gives a
    number's logical index.

    `dense` ones fill their span.
    """

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.shape, self.strides = shape, strides
        self.numel = math.prod(shape)
        self._table: Array | None = None
        self._offsets: Array | None = None
        # (stride, size, axis) of the axes that move, outermost in memory first
        self.axes = sorted(
            ((st, n, i) for i, (st, n) in enumerate(zip(strides, shape, strict=True)) if n > 1 and st > 0),
            key=lambda axis: (-axis[0], axis[2]),
        )
        self.span = sum(st * (n - 1) for st, n, _ in self.axes) + 1 if self.numel else 0
        self.count = math.prod(n for _, n, _ in self.axes) if self.numel else 0
        inner, nested = 0, True
        for stride, size, _ in reversed(self.axes):
            nested = nested and stride > inner
            inner += stride * (size - 1)
        self.nested = nested
        self.dense = bool(self.numel) and nested and self.span == self.count
        if self.numel and not self.dense and self.span > _TABLE and not nested:
            self._offsets = np.unique(self._all_offsets())
            self.count = len(self._offsets)

    def _all_offsets(self) -> Array:
        offsets = np.zeros(1, np.int64)
        for stride, size, _ in self.axes:
            offsets = (offsets[:, None] + stride * np.arange(size)).ravel()
        return offsets

    @property
    def table(self) -> Array | None:
        """Element number by offset, -1 in gaps; None for dense elements and for a span that is too long for it."""
        return None if self.dense or self.span > _TABLE else self._lookup()

    def _lookup(self) -> Array:
        if self._table is None:
            table = np.full(self.span, -1, np.int32)
            offsets = self._all_offsets()
            if self.nested:
                table[offsets] = np.arange(self.count, dtype=np.int32)
            else:
                table[offsets] = 0
                present = np.flatnonzero(table == 0)
                table[present] = np.arange(len(present), dtype=np.int32)
                self.count = len(present)
            self._table = table
        return self._table

    @property
    def size(self) -> int:
        """How many distinct elements there are in memory."""
        if self.numel and not self.dense and not self.nested and self._offsets is None:
            self._lookup()
        return self.count

    def numbers(self, element: Array) -> Array:
        """The element number of each offset, -1 where it is no element's."""
        if not self.numel:
            return np.full(element.shape, -1, np.int64)
        bad = (element < 0) | (element >= self.span)
        if self.dense:
            return np.where(bad, -1, element)
        if self._offsets is not None:
            place = np.searchsorted(self._offsets, element).clip(max=self.count - 1)
            return np.where(bad | (self._offsets[place] != element), -1, place)
        if self.span <= _TABLE:
            return np.where(bad, -1, self._lookup()[np.where(bad, 0, element)])
        number = np.zeros_like(element)
        for stride, size, _ in self.axes:
            quotient = np.clip(element // stride, 0, size - 1)
            element = element - quotient * stride
            number = number * size + quotient
        return np.where(bad | (element != 0), -1, number)

    def index(self, number: int) -> tuple[int, ...]:
        """The logical index of an element number (the first of those that share an element of memory)."""
        offset = int(number)
        if not self.dense and not self.nested:
            offset = int(
                self._offsets[number] if self._offsets is not None else np.searchsorted(self._cumulative(), number)
            )
            return self._first_at(offset)
        result = [0] * len(self.shape)
        for _, size, axis in reversed(self.axes):
            offset, result[axis] = divmod(offset, size)
        return tuple(result)

    def _cumulative(self) -> Array:
        # the n-th element that is present has n elements before it
        return np.maximum.accumulate(self._lookup())

    def _first_at(self, offset: int) -> tuple[int, ...]:
        flat = np.flatnonzero(self._all_offsets() == offset)[0]
        result = [0] * len(self.shape)
        for _, size, axis in reversed(self.axes):
            flat, result[axis] = divmod(flat, size)
        return tuple(int(i) for i in result)


_shared = functools.lru_cache(maxsize=1024)(Elements)


class View:
    """The addresses of a tensor's logical elements, from `first` to `last`."""

    __slots__ = ("elements", "first", "item", "last")

    def __init__(self, tensor: torch.Tensor) -> None:
        shape, strides = tuple(tensor.shape), tensor.stride()
        self.item, self.first = tensor.element_size(), tensor.data_ptr()
        small = math.prod(shape) <= _SHARED and max(strides, default=0) <= _SHARED
        self.elements = (_shared if small else Elements)(shape, strides)
        self.last = self.first + (self.elements.span - 1) * self.item  # address of the last element

    def numbers(self, addresses: Array) -> Array:
        """The element number of each address, -1 where it is no element."""
        offset = addresses - self.first
        if self.item == 1:
            return self.elements.numbers(offset)
        element = offset // self.item
        number = self.elements.numbers(element)
        return np.where(element * self.item != offset, -1, number)
