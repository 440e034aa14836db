"""The C++ signatures of the kernels in a source text, and values packed to exactly these types."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

POINTEES: dict[str, torch.dtype] = {
    "half": torch.float16,
    "__half": torch.float16,
    "__nv_bfloat16": torch.bfloat16,
    "float": torch.float32,
    "double": torch.float64,
    "bool": torch.bool,
    "signed char": torch.int8,
    "unsigned char": torch.uint8,
    "short": torch.int16,
    "int": torch.int32,
    "long long": torch.int64,
}
SCALARS: dict[str, np.dtype[Any]] = {
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "bool": np.dtype(np.bool_),
    "signed char": np.dtype(np.int8),
    "unsigned char": np.dtype(np.uint8),
    "short": np.dtype(np.int16),
    "unsigned short": np.dtype(np.uint16),
    "int": np.dtype(np.int32),
    "unsigned": np.dtype(np.uint32),
    "unsigned int": np.dtype(np.uint32),
    "long": np.dtype(np.int64),
    "unsigned long": np.dtype(np.uint64),
    "size_t": np.dtype(np.uint64),
    "long long": np.dtype(np.int64),
    "unsigned long long": np.dtype(np.uint64),
}

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CONSTANT = re.compile(r"\bconstexpr\s+(?:int|unsigned|long long)\s+(\w+)\s*=\s*(\d+)\s*;")
_STRUCT = re.compile(r"\bstruct\s+(?:alignas\s*\(\s*\d+\s*\)\s*)?(\w+)\s*\{([^{}()]*)\}\s*;")
_FIELD = re.compile(r"([\w ]+?)\s*\b(\w+)\s*(?:\[\s*(\w+)\s*\])?")
_KERNEL = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)\s*\{', re.DOTALL
)
_PARAMETER = re.compile(r"(?:(const)\s+)?(?:__grid_constant__\s+)?([\w ]+?)\s*(\*)?\s*(?:__restrict__\s+)?\b(\w+)")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    `type` is the C++ type without const and pointer. A pointer has `pointee`, the torch dtype it points to, and
    `written`: whether the kernel may write through it. A value has `dtype`, the NumPy dtype of its exact bytes; for a
    struct it is a structured dtype with C++'s alignment.
    """

    name: str
    type: str
    pointee: torch.dtype | None = None
    written: bool = False
    dtype: np.dtype[Any] | None = None

    def pack(self, value: object) -> torch.Tensor | np.generic:
        """The argument as the launch takes it: a tensor for a pointer, else a NumPy scalar of exactly `dtype`.

        A struct is a mapping of its fields, or its bytes. Raises TypeError where the value does not fit the parameter,
        and OverflowError where an integer is out of range.
        """
        if self.pointee is not None:
            if not isinstance(value, torch.Tensor):
                raise TypeError(f"parameter {self.name} is a pointer: pass a tensor, not {type(value).__name__}")
            if value.dtype != self.pointee:
                raise TypeError(f"parameter {self.name} points to {self.type}: pass {self.pointee}, not {value.dtype}")
            return value
        assert self.dtype is not None
        if isinstance(value, torch.Tensor):
            raise TypeError(f"parameter {self.name} is a {self.type} by value: pass a number, not a tensor")
        if self.dtype.names is not None:
            return _pack_struct(self.name, self.type, self.dtype, value)
        return _pack_scalar(self.name, self.type, self.dtype, value)


Signature = tuple[Parameter, ...]


def _pack_scalar(name: str, kind: str, dtype: np.dtype[Any], value: object) -> np.generic:
    _check_scalar(name, kind, dtype, value)
    packed: np.generic = dtype.type(value)
    return packed


_NUMBERS: dict[str, tuple[type, ...]] = {"f": (int, float, np.integer, np.floating), "b": (bool, np.bool_)}


def _check_scalar(name: str, kind: str, dtype: np.dtype[Any], value: object) -> None:
    """Refuse what is no number of the C++ type `kind`: TypeError or OverflowError."""
    accepted = _NUMBERS.get(dtype.kind, (int, np.integer))
    if not isinstance(value, accepted) or (dtype.kind != "b" and isinstance(value, bool)):
        raise TypeError(f"parameter {name} is a {kind}: {value!r} of type {type(value).__name__} is not one")
    if dtype.kind in "iu":
        low, high = _limits(dtype)
        if not low <= int(value) <= high:  # type: ignore[call-overload]
            raise OverflowError(f"parameter {name} is a {kind}: {value!r} does not fit")


@functools.cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


@functools.cache
def _members(dtype: np.dtype[Any]) -> tuple[tuple[str, str, np.dtype[Any], int], ...]:
    """Of each field of a struct: its name, type, and length if it is an array, else 0."""
    assert dtype.fields is not None
    inner = {name: field[0] for name, field in dtype.fields.items()}
    # NumPy makes the name of a dtype anew each time, at 20 us for a struct
    return tuple((name, str(kind.base), kind.base, (*kind.shape, 0)[0]) for name, kind in inner.items())


def _pack_struct(name: str, kind: str, dtype: np.dtype[Any], value: object) -> np.generic:
    assert dtype.names is not None
    if isinstance(value, bytes) and len(value) == dtype.itemsize:
        opaque = np.frombuffer(value, dtype)[0]
        assert isinstance(opaque, np.void)
        return opaque
    if not isinstance(value, Mapping) or set(value) != set(dtype.names):
        raise TypeError(f"parameter {name} is a struct {kind}: pass a mapping with the keys {', '.join(dtype.names)}")
    packed = []
    for field, text, base, length in _members(dtype):
        given = value[field]
        if not length:
            _check_scalar(f"{name}.{field}", text, base, given)
            packed.append(given)
            continue
        if not isinstance(given, (list, tuple)) or len(given) > length:
            raise TypeError(f"parameter {name}.{field} is an array of {length}: pass at most that many numbers")
        for i, item in enumerate(given):
            _check_scalar(f"{name}.{field}[{i}]", text, base, item)
        packed.append([*given, *[0] * (length - len(given))])
    # all fields at once: NumPy takes 0.3 us to find each of them, and a launch with all checks 150
    scalar = np.array(tuple(packed), dtype)[()]
    assert isinstance(scalar, np.void)
    return scalar


def parse(source: str) -> dict[str, Signature]:
    """The signature of every `extern "C" __global__` kernel that is spelled out in `source`, by name.

    Parameters may be pointers, numbers, and structs of numbers and of arrays of numbers. Raises ValueError for a
    parameter of any other type, with its name.
    """
    text = _COMMENT.sub(" ", source)
    constants = {name: int(number) for name, number in _CONSTANT.findall(text)}
    values = dict(SCALARS)
    for name, body in _STRUCT.findall(text):
        fields = _fields(body, constants)
        if fields:
            values[name] = np.dtype(fields, align=True)
    return {
        kernel: tuple(_parameter(kernel, part, values) for part in inside.split(",") if part.strip())
        for kernel, inside in _KERNEL.findall(text)
    }


def _fields(body: str, constants: Mapping[str, int]) -> list[Any]:
    """The fields of a plain struct as NumPy spells them; empty where it holds anything but numbers."""
    fields: list[Any] = []
    for declaration in filter(str.strip, body.split(";")):
        match = _FIELD.fullmatch(declaration.strip())
        if match is None or match[1] not in SCALARS:
            return []
        if match[3] is None:
            fields.append((match[2], SCALARS[match[1]]))
        else:
            length = int(match[3]) if match[3].isdigit() else constants[match[3]]
            fields.append((match[2], SCALARS[match[1]], (length,)))
    return fields


def _parameter(kernel: str, text: str, values: Mapping[str, np.dtype[Any]]) -> Parameter:
    declaration = " ".join(text.split())
    match = _PARAMETER.fullmatch(declaration)
    if match is None:
        raise ValueError(f"kernel {kernel}: cannot read the parameter `{declaration}`")
    const, kind, star, name = match.groups()
    if star and kind in POINTEES:
        return Parameter(name, kind, pointee=POINTEES[kind], written=const is None)
    if not star and kind in values:
        return Parameter(name, kind, dtype=values[kind])
    raise ValueError(
        f"kernel {kernel}: cannot pass `{declaration}`; use a pointer to one of {', '.join(POINTEES)}, "
        f"or a value of one of {', '.join(values)}"
    )
