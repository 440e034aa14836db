"""Arrays of the stand-in for CuPy: what launchers make, pass to raw kernels and read back."""

from __future__ import annotations

import ctypes
import types
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack

Shape = int | Sequence[int]


class MemoryPointer:
    """The memory of a variable of a CUDA text, as `RawModule.get_global` gives it.

    A text is compiled with checks and without: `addresses` are those of both, and a write reaches both.
    """

    def __init__(self, addresses: Sequence[int], size: int) -> None:
        self.addresses = tuple(addresses)
        self.size = size

    @property
    def ptr(self) -> int:
        """The address."""
        return self.addresses[0]

    def copy_from_host(self, source: Any, size: int) -> None:
        """Write `size` bytes from a host address."""
        for address in self.addresses:
            ctypes.memmove(address, source, min(size, self.size))

    def memset(self, value: int, size: int) -> None:
        """Set `size` bytes to one value."""
        for address in self.addresses:
            ctypes.memset(address, value, min(size, self.size))


class ndarray:  # noqa: N801  (CuPy's name)
    """A CuPy array that is a torch tensor: pointer, shape, strides in bytes, dtype, reading and writing.

    `ndarray(shape, dtype, memptr)` is new memory, or that of a variable; launchers get theirs from `asarray` and
    `from_dlpack`.
    """

    tensor: torch.Tensor
    _memory: MemoryPointer | None

    def __init__(self, shape: Shape, dtype: Any = float, memptr: MemoryPointer | None = None) -> None:
        kind = torch_dtype(dtype)
        if memptr is None:
            self.tensor = torch.empty(_sizes(shape), dtype=kind)
        else:
            count = int(np.prod(_sizes(shape)))
            buffer = (ctypes.c_char * memptr.size).from_address(memptr.ptr)
            self.tensor = torch.frombuffer(buffer, dtype=kind, count=count).view(_sizes(shape))
        self._memory = memptr

    @classmethod
    def of(cls, tensor: torch.Tensor) -> ndarray:
        """The tensor as an array, without a copy."""
        array = cls.__new__(cls)
        array.tensor = tensor
        array._memory = None
        return array

    @property
    def data(self) -> types.SimpleNamespace:
        """The pointer, as `data.ptr`."""
        return types.SimpleNamespace(ptr=self.tensor.data_ptr(), device=types.SimpleNamespace(id=0))

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return tuple(self.tensor.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return tuple(s * self.tensor.element_size() for s in self.tensor.stride())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype; two raw bytes for bfloat16, which NumPy has not."""
        if self.tensor.dtype is torch.bfloat16:
            return np.dtype("V2")
        return torch.empty(0, dtype=self.tensor.dtype).numpy().dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.tensor.numel()

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.tensor.dim()

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.tensor.element_size()

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    def get(self) -> np.ndarray[Any, Any]:
        """A copy for NumPy."""
        return self.tensor.clone().numpy()

    def set(self, values: Any) -> None:
        """Write all elements."""
        self[...] = values

    def fill(self, value: float) -> None:
        """Write one value to all elements."""
        self[...] = value

    def reshape(self, *shape: Any) -> ndarray:
        """The same elements in another shape."""
        return ndarray.of(self.tensor.reshape(*shape))

    def ravel(self) -> ndarray:
        """The same elements along one axis."""
        return self.reshape(-1)

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, key: Any) -> ndarray:
        return ndarray.of(self.tensor[key])

    def __setitem__(self, key: Any, values: Any) -> None:
        self.tensor[key] = asarray(values).tensor.to(self.tensor.dtype)
        for address in self._memory.addresses[1:] if self._memory else ():
            ctypes.memmove(address, self.tensor.data_ptr(), self.nbytes)

    def __dlpack__(self, **how: Any) -> object:
        return self.tensor.__dlpack__(**how)

    def __dlpack_device__(self) -> object:
        return self.tensor.__dlpack_device__()


def from_dlpack(tensor: Any) -> ndarray:
    """The tensor as an array, without a copy."""
    return tensor if isinstance(tensor, ndarray) else ndarray.of(torch.utils.dlpack.from_dlpack(tensor))


def asarray(value: Any, dtype: Any = None) -> ndarray:
    """A tensor as an array without a copy (unless `dtype` is another), anything else with one."""
    if isinstance(value, ndarray):
        array = value
    else:
        array = ndarray.of(value if isinstance(value, torch.Tensor) else torch.as_tensor(np.array(value)))
    return array if dtype is None else ndarray.of(array.tensor.to(torch_dtype(dtype)))


def empty(shape: Shape, dtype: Any = float) -> ndarray:
    """New memory that nobody has written."""
    return ndarray(shape, dtype)


def zeros(shape: Shape, dtype: Any = float) -> ndarray:
    """New memory of zeros."""
    return full(shape, 0, dtype)


def ones(shape: Shape, dtype: Any = float) -> ndarray:
    """New memory of ones."""
    return full(shape, 1, dtype)


def full(shape: Shape, value: float, dtype: Any = float) -> ndarray:
    """New memory that holds one value."""
    return ndarray.of(torch.full(_sizes(shape), value, dtype=torch_dtype(dtype)))


def empty_like(array: ndarray) -> ndarray:
    """New memory of an array's shape and dtype that nobody has written."""
    return ndarray.of(torch.empty(array.shape, dtype=array.tensor.dtype))


def zeros_like(array: ndarray) -> ndarray:
    """New memory of zeros of an array's shape and dtype."""
    return ndarray.of(torch.zeros(array.shape, dtype=array.tensor.dtype))


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype of what NumPy takes as one.

    >>> torch_dtype(np.float16), torch_dtype(float), torch_dtype("i4")
    (torch.float16, torch.float64, torch.int32)
    """
    return torch.from_numpy(np.empty(0, dtype=dtype)).dtype


def _sizes(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(int(s) for s in shape)
