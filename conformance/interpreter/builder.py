"""The builder behind Triton's semantic layer: every operation of a kernel becomes a step of a tape.

Values are NumPy arrays with a leading program axis; the rest may be broadcastable to the block's shape rather than
have it (a splat of a scalar stays one element), so that an operation costs what its distinct lanes cost.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as stock
from triton._C.libtriton import ir

from conformance.interpreter import formats, overflow
from conformance.interpreter.sites import here
from conformance.interpreter.tape import Handle, Recording

Array = np.ndarray[Any, Any]

_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
_CHAINED: dict[Any, str] = {np.add: "add", np.subtract: "sub", np.multiply: "mul"}
_BITWISE = {np.bitwise_and, np.bitwise_or, np.bitwise_xor}
_INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}


@functools.lru_cache(maxsize=256)
def storage_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype that holds values of the Triton scalar type of that name."""
    dtype: np.dtype[Any] = np.dtype(stock._get_np_dtype(tl.dtype(name)))
    return dtype


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype that holds values of a Triton scalar type; addresses are int64."""
    scalar = dtype.scalar
    return np.dtype(np.int64) if scalar.is_ptr() else storage_dtype(scalar.name)


def expand(value: Array, shape: tuple[int, ...]) -> Array:
    """The value with its full block shape behind the program axis."""
    return value if value.shape[1:] == shape else np.broadcast_to(value, (value.shape[0], *shape))


def _int1_arithmetic(op: Callable[..., Any], a: Array, b: Array) -> Array:
    # int1 wraps as a one-bit integer, NumPy's bool saturates
    result: Array = (op(a.astype(np.int8), b.astype(np.int8)) & 1).astype(np.bool_)
    return result


def _cast_result(op: Callable[..., Any], dtype: np.dtype[Any], *arrays: Array) -> Array:
    result: Array = op(*arrays).astype(dtype)
    return result


def _small(op: Callable[..., Any], name: str, *arrays: Array) -> Array:
    result = op(*[formats.decode(a, name) for a in arrays])
    return formats.encode(result, name)


def _small_compare(op: Callable[..., Any], name: str, a: Array, b: Array) -> Array:
    result: Array = op(formats.decode(a, name), formats.decode(b, name))
    return result


def _divide_integers(a: Array, b: Array) -> Array:
    result: Array = (a - np.fmod(a, b)) // b
    return result


class Builder(stock.InterpreterBuilder):  # type: ignore[misc]
    """Answers Triton's semantic layer with handles of the running recording."""

    def __init__(self, repairs: frozenset[str]) -> None:
        super().__init__()
        self.repairs = repairs
        # `debug` lets tl.device_assert through to the builder; overflow is our own business (overflow.py)
        self.options: Any = dataclasses.replace(
            stock.InterpreterOptions(), debug="assertions" in repairs, sanitize_overflow=False
        )
        self.recording: Recording = None  # type: ignore[assignment]
        self.machine: Any = None
        self.watching = False  # whether this recording looks for overflowed offsets

    # the grid
    def create_get_program_id(self, axis: int) -> Handle:
        """The program's id along an axis."""
        machine = self.machine
        return self.recording.emit(lambda: machine.batch.ids[:, axis : axis + 1], (), tl.int32, effect=True)

    def create_get_num_programs(self, axis: int) -> Handle:
        """The size of the grid along an axis."""
        machine = self.machine
        return self.recording.emit(lambda: machine.launch.grid_dim[:, axis : axis + 1], (), tl.int32, effect=True)

    # constants
    def get_null_value(self, type: Any) -> Handle:
        """Zero of a type."""
        return self.recording.constant(np.zeros((1, 1), numpy_dtype(type)), type.scalar)

    def get_all_ones_value(self, type: Any) -> Handle:
        """The value of a type with all bits set."""
        value = super().get_all_ones_value(type)
        return self.recording.constant(value.data.reshape(1, 1), type.scalar)

    def get_bf16(self, value: float) -> Handle:
        """A bfloat16 constant."""
        return self.recording.constant(formats.encode(np.array([[value]], np.float32), "bf16"), tl.bfloat16)

    def create_make_range(self, ret_ty: Any, start: int, stop: int) -> Handle:
        """start, ..., stop - 1."""
        return self.recording.constant(np.arange(start, stop, dtype=np.int32)[None], tl.int32, (stop - start,))

    # elementwise
    def binary_op(self, lhs: Handle, rhs: Handle, op: Callable[..., Any]) -> Handle:
        """op(lhs, rhs), as Triton's builder methods ask for it."""
        dtype = lhs.dtype.scalar
        shape = lhs.shape or rhs.shape
        if op in _COMPARISONS:
            if self._decoded(dtype):
                op = functools.partial(_small_compare, op, dtype.name)
            return self.recording.emit(op, (lhs, rhs), tl.int1, shape)
        if dtype.is_ptr():
            return self.recording.emit(op, (lhs, rhs), dtype, shape)
        if dtype.name == "int1":
            if op not in _BITWISE:
                op = functools.partial(_int1_arithmetic, op)
        elif self._decoded(dtype) and op not in _BITWISE:
            op = functools.partial(_small, op, dtype.name)
        elif not self._closed(op, dtype):
            op = functools.partial(_cast_result, op, numpy_dtype(dtype))
        result = self.recording.emit(op, (lhs, rhs), dtype, shape)
        word = _CHAINED.get(op)
        if self.watching and word is not None and dtype.name in ("int32", "int64"):
            parts = overflow.chain_of(lhs), overflow.chain_of(rhs)
            result.derived = overflow.Chain(word, parts, narrow=dtype.name == "int32", place=here())
        return result

    def _decoded(self, dtype: Any) -> bool:
        return "arithmetic" in self.repairs and dtype.scalar.name in formats.SMALL

    @staticmethod
    def _closed(op: Callable[..., Any], dtype: Any) -> bool:
        sample = np.ones(1, numpy_dtype(dtype))
        return bool(op(sample, sample).dtype == sample.dtype)

    def unary_op(self, arg: Handle, op: Callable[..., Any]) -> Handle:
        """op(arg)."""
        dtype = arg.dtype.scalar
        if self._decoded(dtype):
            op = functools.partial(_small, op, dtype.name)
        return self.recording.emit(op, (arg,), dtype, arg.shape)

    def ternary_op(self, lhs: Handle, rhs: Handle, other: Handle, op: Callable[..., Any]) -> Handle:
        """op(lhs, rhs, other), with the type of the last."""
        dtype = other.dtype.scalar
        shape = lhs.shape or rhs.shape or other.shape
        if op is not np.where and self._decoded(dtype):
            op = functools.partial(_small, op, dtype.name)
        result = self.recording.emit(op, (lhs, rhs, other), dtype, shape)
        if op is np.where and dtype.is_ptr():
            result.origin = self._chosen_origin(lhs, rhs, other)
            if self.watching:
                result.derived = overflow.join(self.recording, rhs.derived, other.derived)
        elif op is np.where and self.watching and (rhs.derived is not None or other.derived is not None):
            parts = overflow.Chain("leaf", (lhs,)), overflow.chain_of(rhs), overflow.chain_of(other)
            result.derived = overflow.Chain("where", parts)
        return result

    def _chosen_origin(self, condition: Handle, one: Handle, other: Handle) -> Any:
        if not isinstance(one.origin, Handle) and one.origin == other.origin:
            return one.origin
        numbers = [o if isinstance(o, Handle) else self._numbered(o) for o in (one.origin, other.origin)]
        return self.recording.emit(np.where, (condition, *numbers), tl.int32, condition.shape)

    def create_idiv(self, lhs: Handle, rhs: Handle) -> Handle:
        """Integer division, towards zero."""
        return self.recording.emit(_divide_integers, (lhs, rhs), lhs.dtype.scalar, lhs.shape or rhs.shape)

    def create_ashr(self, lhs: Handle, rhs: Handle) -> Handle:
        """Shift right, by the sign of the left operand's type."""
        signed = stock._get_signed_np_dtype(numpy_dtype(lhs.dtype))
        narrow = numpy_dtype(lhs.dtype)

        def shift(a: Array, b: Array) -> Array:
            result: Array = np.right_shift(a.astype(signed), b.astype(signed)).astype(narrow)
            return result

        return self.recording.emit(shift, (lhs, rhs), lhs.dtype.scalar, lhs.shape or rhs.shape)

    def create_fma(self, x: Handle, y: Handle, z: Handle) -> Handle:
        """x * y + z, rounded once."""
        dtype = z.dtype.scalar
        if self._decoded(dtype):
            name = dtype.name

            def fma(a: Array, b: Array, c: Array) -> Array:
                p, q, r = (formats.decode(v, name).astype(np.float64) for v in (a, b, c))
                return formats.encode((p * q + r).astype(np.float32), name)
        else:

            def fma(a: Array, b: Array, c: Array) -> Array:
                handles = [stock.TensorHandle(v, dtype) for v in np.broadcast_arrays(a, b, c)]
                result: Array = stock.InterpreterBuilder.create_fma(self, *handles).data
                return result

        return self.recording.emit(fma, (x, y, z), dtype, x.shape or y.shape or z.shape)

    def create_fabs(self, arg: Handle) -> Handle:
        """The value without its sign bit."""
        dtype = arg.dtype.scalar
        if dtype.name in formats.SMALL:
            mask = numpy_dtype(dtype).type((1 << (dtype.primitive_bitwidth - 1)) - 1)
            return self.recording.emit(lambda a: a & mask, (arg,), dtype, arg.shape)
        return self.recording.emit(np.abs, (arg,), dtype, arg.shape)

    def create_erf(self, arg: Handle) -> Handle:
        """The error function."""
        wide = stock.np_erf_fp32 if arg.dtype.scalar.name == "fp32" else stock.np_erf_fp64
        return self.unary_op(arg, wide)

    def create_rsqrt(self, arg: Handle) -> Handle:
        """1 / sqrt(arg)."""
        return self.unary_op(arg, lambda a: 1 / np.sqrt(a))

    # casts
    def cast_impl(self, src: Handle, dst_type: Any) -> Handle:
        """The value in another scalar type, rounded to nearest even."""
        return self._cast(src, dst_type.scalar, None)

    def create_fp_to_fp(self, src: Handle, dst_type: Any, rounding_mode: Any) -> Handle:
        """The value in another floating type."""
        return self._cast(src, dst_type.scalar, rounding_mode)

    def _cast(self, src: Handle, target: Any, rounding: Any) -> Handle:
        source = src.dtype.scalar
        if source.name == target.name:
            return src
        small = source.name in formats.SMALL, target.name in formats.SMALL
        if any(small):
            if "casts" in self.repairs and "fp8e4b15" not in (source.name, target.name):
                cast = formats.caster(source.name, target.name, rounding == ir.ROUNDING_MODE.RTZ)
            else:
                cast = functools.partial(_stock_cast, source, target, rounding)
        else:
            dtype = numpy_dtype(target)
            if dtype == numpy_dtype(source):
                return self._renamed(src, target)
            cast = functools.partial(_astype, dtype)
        result = self.recording.emit(cast, (src,), target, src.shape)
        if target.name == "int64" and source.name == "int32":
            result.derived = src.derived
        return result

    def _renamed(self, src: Handle, dtype: Any) -> Handle:
        return self.recording.alias(src, dtype, src.shape)

    def create_bitcast(self, src: Handle, dst_type: Any) -> Handle:
        """The same bits as another type; a pointer made of an integer has no origin."""
        target = dst_type.scalar
        dtype = numpy_dtype(target)
        result = self.recording.emit(lambda a: np.ascontiguousarray(a).view(dtype), (src,), target, src.shape)
        if target.is_ptr() and src.dtype.scalar.is_ptr():
            result.origin = src.origin
            if not isinstance(src.origin, Handle) and result.get_element_ty() != src.get_element_ty():
                # an address between two elements of the tensor may come of it: what a block of origins says is
                # judged address by address
                result.origin = self._numbered(src.origin)
        return result

    def _numbered(self, origin: int | None) -> Handle:
        return self.recording.constant(np.array([[-1 if origin is None else origin]]), tl.int32)

    create_ptr_to_int = create_bitcast

    def create_int_to_ptr(self, src: Handle, dst_type: Any) -> Handle:
        """The integer as an address, whose tensor is looked up when it is used."""
        return self.recording.emit(lambda a: a.astype(np.int64), (src,), dst_type.scalar, src.shape)


def _astype(dtype: np.dtype[Any], value: Array) -> Array:
    return value.astype(dtype)


def _stock_cast(source: Any, target: Any, rounding: Any, value: Array) -> Array:
    handle = stock.TensorHandle(value, source)
    builder = stock.interpreter_builder
    if source.is_floating() and target.is_floating():
        result: Array = builder.create_fp_to_fp(handle, target, rounding).data
    else:
        result = builder.cast_impl(handle, target).data
    return result


def _lift(name: str) -> Callable[..., Handle]:
    get = getattr(stock.InterpreterBuilder, name)

    def constant(self: Builder, value: Any) -> Handle:
        handle = get(self, value)
        return self.recording.constant(handle.data.reshape(1, 1), handle.dtype)

    constant.__name__ = name
    constant.__doc__ = "A constant."
    return constant


for _name in (*_INTEGERS, "int1", "fp16", "fp32", "fp64"):
    if hasattr(stock.InterpreterBuilder, f"get_{_name}"):
        setattr(Builder, f"get_{_name}", _lift(f"get_{_name}"))
