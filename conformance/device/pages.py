"""Pages of device memory with unmapped neighbours, through the virtual memory interface of the CUDA driver."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from types import ModuleType
from typing import Any, Protocol

import torch

# Unmapped granules on each side of a mapping. Address space costs nothing; with 32 MiB (16 granules of 2 MiB on every
# device since Volta) an access a whole block or row too far still meets no other tensor.
NEIGHBOURS = 16


@dataclasses.dataclass(frozen=True)
class Mapping:
    """Mapped memory from `address` on, of `size` bytes, alone in a reservation whose other pages are unmapped."""

    address: int
    size: int
    reserved: int
    reserved_size: int


class OutOfMemory(Exception):
    """The device has no memory left for another mapping."""


class Pages(Protocol):
    """Where mappings come from. `granularity` is the size in bytes that mappings are a multiple of."""

    granularity: int

    def map(self, size: int) -> Mapping:
        """A new mapping of `size` bytes. Raises OutOfMemory."""
        ...

    def unmap(self, mapping: Mapping) -> None:
        """Give a mapping back; nothing may use it any more."""
        ...

    def tensor(self, owner: Any, address: int, size: int) -> torch.Tensor:
        """A uint8 tensor over `size` mapped bytes; `owner` lives as long as the storage of the tensor."""
        ...


class DriverError(RuntimeError):
    """A call of the CUDA driver failed; the message has the call and the driver's name for the error."""


@functools.cache
def driver() -> ModuleType:
    """NVIDIA's binding of the CUDA driver. Raises ImportError where the package cuda-bindings is missing."""
    return importlib.import_module("cuda.bindings.driver")


class CudaPages:
    """Pages of plain (never managed) device memory of one CUDA device.

    Source: CUDA C++ programming guide, "Virtual memory management". Raises ImportError without cuda-bindings,
    DriverError where the device has no virtual memory management.
    """

    def __init__(self, device: torch.device) -> None:
        self._cuda = driver()
        self.device = device
        torch.empty(1, device=device)  # makes torch's context, which the mappings are made in, and keeps it current
        cuda = self._cuda
        self._properties = cuda.CUmemAllocationProp()
        self._properties.type = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        self._properties.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        self._properties.location.id = device.index
        self._access = cuda.CUmemAccessDesc()
        self._access.location = self._properties.location
        self._access.flags = cuda.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        flag = cuda.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        self.granularity = int(self._call("cuMemGetAllocationGranularity", self._properties, flag))

    def map(self, size: int) -> Mapping:
        """A new mapping of `size` bytes. Raises OutOfMemory, or DriverError for what is no lack of memory."""
        guard = NEIGHBOURS * self.granularity
        reserved_size = size + 2 * guard
        reserved = int(self._call("cuMemAddressReserve", reserved_size, 0, 0, 0))
        address = reserved + guard
        try:
            handle = self._call("cuMemCreate", size, self._properties, 0)
        except OutOfMemory:
            self._call("cuMemAddressFree", reserved, reserved_size)
            raise
        self._call("cuMemMap", address, size, 0, handle, 0)
        self._call("cuMemRelease", handle)  # the mapping keeps the memory
        self._call("cuMemSetAccess", address, size, [self._access], 1)
        return Mapping(address, size, reserved, reserved_size)

    def unmap(self, mapping: Mapping) -> None:
        """Give a mapping back. Waits for the device, so that no kernel still uses it."""
        torch.cuda.synchronize(self.device)
        self._call("cuMemUnmap", mapping.address, mapping.size)
        self._call("cuMemAddressFree", mapping.reserved, mapping.reserved_size)

    def tensor(self, owner: Any, address: int, size: int) -> torch.Tensor:
        """A uint8 tensor over `size` mapped bytes, through the CUDA array interface."""
        tensor = torch.as_tensor(_Array(owner, address, size), device=self.device)
        if tensor.data_ptr() != address:
            raise DriverError(f"torch copied mapped memory at {address:#x} instead of taking it as it is")
        return tensor

    def _call(self, name: str, *arguments: Any) -> Any:
        error, *results = getattr(self._cuda, name)(*arguments)
        if int(error) == 0:
            return results[0] if results else None
        if int(error) == int(self._cuda.CUresult.CUDA_ERROR_OUT_OF_MEMORY):
            raise OutOfMemory(f"{name}: the device has no memory left")
        raise DriverError(f"{name} failed: {error.name}")


class _Array:
    """Mapped memory as torch takes it; torch keeps this object, and so the owner, while it uses the memory."""

    def __init__(self, owner: Any, address: int, size: int) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }
