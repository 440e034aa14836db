"""Pages of host memory with inaccessible neighbours: the fence's driver on a machine without a GPU."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import torch

from conformance.device.pages import Mapping, OutOfMemory

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class HostPages:
    """Mappings by mmap and mprotect; an access past either end is a segmentation fault."""

    granularity = mmap.PAGESIZE

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.mapped = 0

    def map(self, size: int) -> Mapping:
        if self.limit is not None and self.mapped + size > self.limit:
            raise OutOfMemory("no more pages")
        reserved_size = size + 2 * self.granularity
        reserved = _libc.mmap(None, reserved_size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        address = reserved + self.granularity
        assert _libc.mprotect(address, size, mmap.PROT_READ | mmap.PROT_WRITE) == 0
        self.mapped += size
        return Mapping(address, size, reserved, reserved_size)

    def unmap(self, mapping: Mapping) -> None:
        _libc.munmap(mapping.reserved, mapping.reserved_size)
        self.mapped -= mapping.size

    def tensor(self, owner: Any, address: int, size: int) -> torch.Tensor:
        buffer = (ctypes.c_ubyte * size).from_address(address)
        buffer.owner = owner
        return torch.frombuffer(buffer, dtype=torch.uint8)
