"""The parameters of a kernel as the compiler sees them, and the packing of arguments by them."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

# The letters of runtime/include/entry.h: name in C++, ctypes type of a scalar, dtypes that a pointer may carry.
_RAW16 = (torch.float16, torch.bfloat16, torch.int16, torch.uint16)
_BYTES = (torch.int8, torch.uint8, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2)
_LETTERS: dict[str, tuple[str, Any, tuple[torch.dtype, ...] | None]] = {
    "?": ("bool", ctypes.c_bool, (torch.bool, torch.uint8)),
    "b": ("signed char", ctypes.c_int8, _BYTES),
    "B": ("unsigned char", ctypes.c_uint8, None),  # bytes of anything
    "h": ("short", ctypes.c_int16, _RAW16),
    "H": ("unsigned short", ctypes.c_uint16, _RAW16),
    "i": ("int", ctypes.c_int32, (torch.int32, torch.uint32)),
    "I": ("unsigned int", ctypes.c_uint32, None),  # bit patterns of anything
    "q": ("long long", ctypes.c_int64, (torch.int64, torch.uint64)),
    "Q": ("unsigned long long", ctypes.c_uint64, None),
    "f": ("float", ctypes.c_float, (torch.float32, torch.complex64)),
    "d": ("double", ctypes.c_double, (torch.float64, torch.complex128)),
    "e": ("half", ctypes.c_uint16, (torch.float16,)),
    "y": ("__nv_bfloat16", ctypes.c_uint16, (torch.bfloat16,)),
    "4": ("__nv_fp8_e4m3", ctypes.c_uint8, (torch.float8_e4m3fn, torch.uint8)),
    "5": ("__nv_fp8_e5m2", ctypes.c_uint8, (torch.float8_e5m2, torch.uint8)),
    "v": ("void", None, None),
    "x": ("a struct", None, None),
}
_INTEGERS = "bBhHiIqQ"


class ArgumentError(TypeError):
    """An argument does not fit the kernel's own C++ signature."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: its name, C++ type, and size in bytes."""

    name: str
    pointer: bool
    constant: bool
    letter: str
    size: int

    def __str__(self) -> str:
        text = _LETTERS[self.letter][0]
        return f"{'const ' * self.constant}{text}{'*' * self.pointer} {self.name}"

    def mismatch(self, tensor: torch.Tensor) -> str | None:
        """What is wrong with a tensor for this pointer, None when it fits."""
        cpp, _, dtypes = _LETTERS[self.letter]
        if dtypes is None or tensor.dtype in dtypes:
            return None
        return f"parameter `{self}` points to {cpp}, but the tensor holds {tensor.dtype}"


@dataclasses.dataclass(frozen=True)
class Signature:
    """The parameters of a kernel in order."""

    kernel: str
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return f"{self.kernel}({', '.join(map(str, self.parameters))})"

    def pack(self, args: Sequence[Any]) -> list[Any]:
        """The arguments as ctypes values, each of its parameter's own type.

        Raises:
            ArgumentError: the number of arguments is wrong, or one does not fit its parameter.
        """
        if len(args) != len(self.parameters):
            raise ArgumentError(f"{self} takes {len(self.parameters)} arguments, got {len(args)}")
        return [self._pack(p, a) for p, a in zip(self.parameters, args, strict=True)]

    def _pack(self, p: Parameter, value: Any) -> Any:
        scalar = _LETTERS[p.letter][1]
        if isinstance(value, np.generic):
            value = value.tobytes() if isinstance(value, np.void) else value.item()
        if isinstance(value, torch.Tensor):
            if not p.pointer:
                raise ArgumentError(
                    f"{self.kernel}: parameter `{p}` is no pointer, but a tensor of {value.dtype} was given"
                )
            if value.device.type != "cpu":
                raise ArgumentError(
                    f"{self.kernel}: the tensor for `{p}` lies on {value.device}; the emulator takes CPU tensors"
                )
            if wrong := p.mismatch(value):
                raise ArgumentError(f"{self.kernel}: {wrong}")
            return ctypes.c_void_p(value.data_ptr())
        if p.pointer:
            if value is None:
                return ctypes.c_void_p(0)
            raise ArgumentError(
                f"{self.kernel}: parameter `{p}` is a pointer, but {value!r} ({type(value).__name__}) was given"
            )
        if p.letter in _INTEGERS:
            return self._pack_integer(p, value, scalar)
        if p.letter == "?" and isinstance(value, bool | int):
            return scalar(bool(value))
        if p.letter in "fd" and isinstance(value, int | float):
            return scalar(value)
        if p.letter in "ey" and isinstance(value, int | float):
            dtype = torch.float16 if p.letter == "e" else torch.bfloat16
            return scalar(int(torch.tensor(float(value), dtype=dtype).view(torch.int16)) & 0xFFFF)
        if p.letter in "x" and isinstance(value, bytes):
            if len(value) != p.size:
                raise ArgumentError(
                    f"{self.kernel}: parameter `{p}` is {p.size} bytes long, but {len(value)} bytes were given"
                )
            return (ctypes.c_char * p.size).from_buffer_copy(value)
        raise ArgumentError(f"{self.kernel}: parameter `{p}` cannot take {value!r} ({type(value).__name__})")

    def _pack_integer(self, p: Parameter, value: Any, scalar: Any) -> Any:
        if not isinstance(value, int):
            raise ArgumentError(
                f"{self.kernel}: parameter `{p}` is an integer, but {value!r} ({type(value).__name__}) was given"
            )
        packed = scalar(value)
        if packed.value != value:
            raise ArgumentError(f"{self.kernel}: {value} does not fit parameter `{p}`")
        return packed


def describe(kernel: str, names: Sequence[str], letters: str, sizes: Sequence[int]) -> Signature:
    """The signature that a compiled entry point describes (see runtime/include/entry.h)."""
    count = len(letters) // 3
    known = names if len(names) == count else [f"argument_{i}" for i in range(count)]
    return Signature(
        kernel,
        tuple(
            Parameter(known[i], letters[i] == "*", letters[count + i] == "c", letters[2 * count + i], sizes[i])
            for i in range(count)
        ),
    )
