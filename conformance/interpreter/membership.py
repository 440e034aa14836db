"""Which element of a tensor an address is: exact for every view, however strided, expanded or overlapping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

# spans up to this many elements are looked up in a table (4 MiB of int32), longer ones by arithmetic
_TABLE = 1 << 20


class View:
    """The addresses of a tensor's logical elements. Elements are numbered; `index` gives a number's logical index.

    `dense` views fill their span: any address between `first` and `last` that is aligned is an element.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        self.shape, self.strides = tuple(tensor.shape), tuple(tensor.stride())
        self.item, self.first = tensor.element_size(), tensor.data_ptr()
        self.numel = math.prod(self.shape)
        self._table: Array | None = None
        self._offsets: Array | None = None
        if self.numel and tensor.is_contiguous():
            sizes = zip(self.strides, self.shape, range(len(self.shape)), strict=True)
            self.axes = [axis for axis in sizes if axis[1] > 1]
            self.span = self.count = self.numel
            self.last = self.first + (self.numel - 1) * self.item
            self.nested = self.dense = True
            return
        # (stride, size, axis) of the axes that move, outermost in memory first
        self.axes = sorted(
            ((st, n, i) for i, (st, n) in enumerate(zip(self.strides, self.shape, strict=True)) if n > 1 and st > 0),
            reverse=True,
        )
        self.span = sum(st * (n - 1) for st, n, _ in self.axes) + 1 if self.numel else 0
        self.last = self.first + (self.span - 1) * self.item  # address of the last element
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

    def _lookup(self) -> Array:
        """Element number by offset, -1 in gaps; made when it is first needed."""
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

    def numbers(self, addresses: Array) -> Array:
        """The element number of each address, -1 where it is no element."""
        offset = addresses - self.first
        if not self.numel:
            return np.full(offset.shape, -1, np.int64)
        if self.item > 1:
            element = offset // self.item
            bad = element * self.item != offset
        else:
            element, bad = offset, np.zeros(offset.shape, np.bool_)
        bad |= (element < 0) | (element >= self.span)
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
