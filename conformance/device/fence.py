"""The fence: every tensor lies flush against an unmapped page, so that one element too far is a fault, not a pass.

Torch's caching allocator puts tensors into blocks that they share: a kernel that reads past its input reads mapped
memory and passes. Here each tensor has a mapping of its own, and lies at its very end or its very start.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import threading
import zlib
from typing import Literal

import torch

from conformance.device.pages import CudaPages, DriverError, Mapping, OutOfMemory, Pages
from conformance.memory import GUARD

Side = Literal["end", "start"]

# Vectorized accesses are 16 bytes at most (CUDA C++ programming guide, "Device memory accesses"; Triton specializes
# pointers on it too), and torch aligns what it allocates to more.
ALIGNMENT = 16

# Bytes of guard zone on the side that is not flush: one page of the host, more than a row of most drawn tensors.
SLACK = 4096

# Bytes of mapped memory that a pool keeps for reuse; beyond it what comes back is unmapped. A mapping costs about
# 0.05 ms (measured on an H200), reusing one a look-up.
KEPT = 1 << 32


class Lease:
    """A mapping in use; it goes back to its pool when the last tensor over it dies."""

    __slots__ = ("_pool", "mapping")

    def __init__(self, pool: Pool, mapping: Mapping) -> None:
        self._pool = pool
        self.mapping = mapping

    def __del__(self) -> None:
        self._pool.take_back(self.mapping)


class Pool:
    """Mappings for reuse by size class. An instance serves one device of one process."""

    def __init__(self, pages: Pages, *, kept: int = KEPT) -> None:
        self.pages = pages
        self.made = 0
        self._kept = kept
        self._free: dict[int, collections.deque[Mapping]] = {}
        self._free_bytes = 0
        self._lock = threading.RLock()  # a collection may end leases in any thread, also within `lease`

    def lease(self, size: int) -> Lease:
        """A mapping of at least `size` bytes. Raises torch.OutOfMemoryError where the device has no memory left."""
        size = size_class(size, self.pages.granularity)
        with self._lock:
            free = self._free.get(size)
            if free:
                self._free_bytes -= size
                return Lease(self, free.pop())
        try:
            mapping = self.pages.map(size)
        except OutOfMemory:
            self.trim()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            try:
                mapping = self.pages.map(size)
            except OutOfMemory as error:
                raise torch.OutOfMemoryError(f"CUDA out of memory: {size} bytes of fenced memory ({error})") from error
        self.made += 1
        return Lease(self, mapping)

    def take_back(self, mapping: Mapping) -> None:
        """Keep a mapping that is no longer used; past the limit of the pool it is unmapped."""
        with self._lock:
            if self._free_bytes + mapping.size <= self._kept:
                self._free.setdefault(mapping.size, collections.deque()).append(mapping)
                self._free_bytes += mapping.size
                return
        with contextlib.suppress(
            DriverError, RuntimeError
        ):  # after a fault the context is lost, and its memory with it
            self.pages.unmap(mapping)

    def trim(self) -> None:
        """Unmap everything that is not in use."""
        with self._lock:
            mappings = [mapping for free in self._free.values() for mapping in free]
            self._free.clear()
            self._free_bytes = 0
        for mapping in mappings:
            self.pages.unmap(mapping)


def size_class(size: int, granularity: int) -> int:
    """The size in bytes of the mapping for `size` bytes: 1, 2, 3, 4, 6, 8, 12, ... granules, so that sizes are reused.

    >>> [size_class(n, 2) for n in (1, 3, 5, 9, 13)]
    [2, 4, 6, 12, 16]
    """
    granules = max(1, -(-size // granularity))
    power = 1 << (granules - 1).bit_length()
    three_quarters = power // 4 * 3
    return (three_quarters if granules <= three_quarters else power) * granularity


@dataclasses.dataclass(frozen=True)
class Fence:
    """An allocator (`conformance.memory.Allocator`) whose storages lie flush against an unmapped page.

    `side` says which page: "start" keeps the alignment that torch gives, "end" puts the last byte of the tensor at the
    last mapped byte. `unaligned` allows a tensor at the end to start at any multiple of its element size; otherwise up
    to 15 bytes of poison lie between its last element and the page.
    """

    pool: Pool
    side: Side
    unaligned: bool = False

    def __call__(self, elements: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """A 1-D tensor of that many elements, flush at the side; content undefined."""
        size = max(1, elements) * dtype.itemsize
        lease = self.pool.lease(size)
        mapping = lease.mapping
        address = mapping.address if self.side == "start" else mapping.address + mapping.size - size
        return self.pool.pages.tensor(lease, address, size).view(dtype)[:elements]

    def guarded(
        self, elements: int, offset: int, dtype: torch.dtype, device: torch.device, *, aligned: bool
    ) -> tuple[torch.Tensor, int]:
        """A storage for `offset + elements` elements with a guard zone on the side that is not flush, and the index of
        the first of them. With `aligned` that one has torch's alignment, whatever the fence allows."""
        slack = SLACK // dtype.itemsize
        used = offset + elements
        if self.side == "start":
            return self(used + slack, dtype, device), 0
        keep = aligned or not self.unaligned
        padding = -(used * dtype.itemsize) % ALIGNMENT // dtype.itemsize if keep else 0
        return self(slack + used + padding, dtype, device), slack


@functools.cache
def pool(device: torch.device) -> Pool:
    """The pool of a CUDA device of this process.

    Raises:
        ImportError: cuda-bindings is not installed.
        DriverError: the device cannot map memory.
    """
    return Pool(CudaPages(device))


@functools.cache
def unavailable(device: torch.device) -> str | None:
    """Why tensors on the device cannot be fenced, None if they can."""
    if device.type != "cuda":
        return "the fence needs a CUDA device; on the CPU the interpreter sees every address"
    try:
        pool(device).lease(1)
    except ImportError as error:
        return f"the fence needs cuda-bindings ({error}): pip install cuda-bindings"
    except (DriverError, RuntimeError) as error:
        return f"the device cannot fence memory: {error}"
    return None


def for_call(device: torch.device, call: object, *, unaligned: bool) -> Fence:
    """The fence for a call: which side is flush is drawn from the call's text, so that a replay has the same."""
    digest = zlib.crc32(repr(call).encode())
    return Fence(pool(device), "start" if digest & 1 else "end", unaligned)


assert SLACK >= GUARD
