"""A kernel's arguments: a key for its tape, and the values that the tape's first slots hold."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as stock
from triton.runtime.jit import mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from conformance.interpreter import formats
from conformance.interpreter.builder import numpy_dtype
from conformance.interpreter.tape import Handle, Recording


@functools.lru_cache(maxsize=256)
def _scalar_type(name: str) -> Any:
    return tl.str_to_ty(name, None)


_pointer_names: dict[tuple[type, Any], str] = {}


def _pointer_name(arg: Any) -> str:
    key = (type(arg), arg.dtype)
    name = _pointer_names.get(key)
    if name is None:
        name = _pointer_names[key] = mangle_type(arg)
    return name


@functools.lru_cache(maxsize=4096)
def _int32(value: int) -> np.ndarray[Any, Any]:
    """The value as launches hold it; nobody writes to what many share."""
    array = np.array([[value]], np.int32)
    array.setflags(write=False)
    return array


class Arguments:
    """The arguments of one launch.

    `key` names types and constants, `values` the arrays of everything else, `pointers` (number, name, tensor) of the
    values that are addresses.
    """

    __slots__ = ("key", "kinds", "pointers", "values")

    def __init__(
        self, bound: dict[str, Any], constexprs: frozenset[str], floats: bool, kinds: dict[str, str] | None = None
    ) -> None:
        self.kinds = kinds or {}
        self.values: list[Any] = []
        self.pointers: list[tuple[int, str, Any]] = []
        self.key: Any = tuple(
            [
                constant(value) if name in constexprs else self._token(name, value, floats)
                for name, value in bound.items()
            ]
        )

    def _token(self, name: str, value: Any, floats: bool) -> Any:
        if type(value) is int and -(2**31) <= value < 2**31 and name not in self.kinds:
            self.values.append(_int32(value))
            return "i32"
        if hasattr(value, "data_ptr"):
            self.pointers.append((len(self.values), name, value))
            self.values.append(np.array([[value.data_ptr()]], np.int64))
            return _pointer_name(value)
        if name in self.kinds and isinstance(value, (bool, int, float)):
            kind = self.kinds[name]
            self.values.append(_typed(value, kind))
            return kind
        if isinstance(value, bool):
            self.values.append(np.array([[value]]))
            return "u1"
        if isinstance(value, int):
            kind = mangle_type(value)
            self.values.append(np.array([[value]], numpy_dtype(_scalar_type(kind))))
            return kind
        if isinstance(value, float) and floats:
            self.values.append(np.array([[value]], np.float32))
            return "fp32"
        if isinstance(value, tuple):
            return (type(value), *(self._token(f"{name}[{i}]", v, floats) for i, v in enumerate(value)))
        if isinstance(value, TensorDescriptor):
            token = (
                self._token(name, value.base, floats),
                tuple(self._token(name, n, floats) for n in value.shape),
                tuple(self._token(name, n, floats) for n in value.strides),
            )
            return _Description(
                token, tuple(value.block_shape), value.padding, getattr(value, "round_f32_to_tf32", False)
            )
        return constant(value)


def _typed(value: Any, kind: str) -> Any:
    """A scalar argument in the type that the kernel's annotation gives it."""
    dtype = _scalar_type(kind)
    if dtype.name in formats.SMALL:
        return formats.encode(np.array([[value]], np.float32), dtype.name)
    return np.array([[value]], numpy_dtype(dtype))


class _Plain(tuple[type, Any]):
    """Type and value of a constant whose own comparison tells it from others of its type."""

    __slots__ = ()


class _Constant:
    """A value that is part of the key. Equal only to the same type and value: 1, 1.0 and True differ."""

    __slots__ = ("hash", "text", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.text = repr(value) if isinstance(value, (float, list, dict, set)) else None  # -0.0 == 0.0, and NaN != NaN
        self.hash = hash(value if self.text is None else self.text)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Constant or type(self.value) is not type(other.value):
            return False
        if self.text is not None:
            return self.text == other.text
        return bool(self.value == other.value)


class _Description:
    """A host tensor descriptor, in the key."""

    def __init__(self, token: Any, block: tuple[int, ...], padding: Any, tf32: bool) -> None:
        self.token, self.block, self.padding, self.tf32 = token, block, padding, tf32

    def _fields(self) -> tuple[Any, ...]:
        return self.token, self.block, str(self.padding), self.tf32

    def __hash__(self) -> int:
        return hash(self._fields())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Description) and self._fields() == other._fields()


_PLAIN = frozenset({int, bool, str, type(None)})


def constant(value: Any) -> _Plain | _Constant:
    """The value as a part of a key."""
    kind = type(value)
    return _Plain((kind, value)) if kind in _PLAIN else _Constant(value)


def build(recording: Recording, names: tuple[str, ...], key: Any) -> dict[str, Any]:
    """The arguments as the kernel's Python sees them: tensors of Triton's language, and constants."""
    count = iter(range(1 << 30))
    return {name: _build(recording, token, count) for name, token in zip(names, key, strict=True)}


def _build(recording: Recording, token: Any, count: Iterator[int]) -> Any:
    if isinstance(token, _Constant):
        return token.value
    if isinstance(token, _Plain):
        return token[1]
    if isinstance(token, str):
        dtype = _scalar_type(token)
        slot = next(count)
        handle = Handle(recording, slot, dtype, ())
        if dtype.is_ptr():
            handle.origin = slot
        return tl.core.tensor(handle, dtype)
    if isinstance(token, _Description):
        base, shape, strides = token.token
        tensors = [_build(recording, base, count)]
        sizes = [_build(recording, t, count) for t in shape]
        steps = [_build(recording, t, count) for t in strides]
        steps[-1] = tl.constexpr(1)
        made = stock.interpreter_semantic.make_tensor_descriptor(
            base=tensors[0],
            shape=sizes,
            strides=steps,
            block_shape=[tl.constexpr(n) for n in token.block],
            padding_option=token.padding,
        )
        made.handle.round_f32_to_tf32 = token.tf32
        return made
    kind, *items = token
    return (
        stock._tuple_create(kind(), [_build(recording, t, count) for t in items])
        if kind is tuple
        else kind(*[_build(recording, t, count) for t in items])
    )
