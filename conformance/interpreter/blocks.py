"""Dots, reductions, scans and everything else that looks at a whole block."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as stock
from triton._C.libtriton import ir

from conformance.interpreter import formats
from conformance.interpreter.builder import Array, expand, numpy_dtype
from conformance.interpreter.descriptors import Descriptors
from conformance.interpreter.errors import ON_A_GPU
from conformance.interpreter.sites import here
from conformance.interpreter.tape import Handle
from conformance.runtime import CannotBeJudged

# the least M, N and K of a dot by the operands' bits (triton/backends/nvidia/compiler.py, min_dot_size)
_LEAST_K = {8: 32, 16: 16, 32: 8, 64: 4}
# a tensor core adds a fp16 accumulator once for every 16 products (mma m16n8k16)
_HALF_STEP = 16


class Blocks(Descriptors):
    """The builder's operations on whole blocks."""

    def create_dot(self, a: Handle, b: Handle, d: Handle, input_precision: Any, max_num_imprecise_acc: Any) -> Handle:
        """a @ b + d."""
        shapes = a.shape, b.shape, d.shape
        left, right, target = a.dtype.scalar, b.dtype.scalar, d.dtype.scalar
        tf32 = input_precision != ir.INPUT_PRECISION.IEEE and left.name == right.name == "fp32"
        # three TF32 products keep about 21 bits of each operand, which the plain product stands for
        tf32 = tf32 and input_precision == ir.INPUT_PRECISION.TF32 and "dots" in self.repairs
        if "rejections" in self.repairs:
            self._check_dot(a, b, d)
        accumulate = numpy_dtype(target)
        steps = target.name == "fp16" and "dots" in self.repairs
        # BLAS sums in an order that depends on the tile's shape, a tensor core does not: float32 sums are formed in
        # float64, where the order is lost in rounding, and float64 sums by NumPy's own loop over longdouble
        wide: Any = None
        if "dots" in self.repairs and target.name in ("fp32", "fp64"):
            wide = np.float64 if target.name == "fp32" else np.longdouble

        as_stock = "arithmetic" not in self.repairs and (left.name in formats.SMALL or right.name in formats.SMALL)

        def dot(x: Array, y: Array, z: Array) -> Array:
            x, y, z = (expand(v, s) for v, s in zip((x, y, z), shapes, strict=True))
            if as_stock:
                handles = map(stock.TensorHandle, (x, y, z), (left, right, target))
                product: Array = stock.InterpreterBuilder.create_dot(self, *handles, input_precision, None).data
                return product
            if tf32:
                x, y = formats.truncate_tf32(x), formats.truncate_tf32(y)
            if left.name in formats.SMALL:
                x = formats.decode(x, left.name)
            if right.name in formats.SMALL:
                y = formats.decode(y, right.name)
            if steps:
                return _half_steps(x, y, z)
            if wide is None:
                result: Array = np.matmul(x, y, dtype=accumulate) + z
                return result
            total: Array = np.matmul(x.astype(wide), y.astype(wide)).astype(accumulate) + z
            return total

        return self.recording.emit(dot, (a, b, d), target, d.shape)

    def _check_dot(self, a: Handle, b: Handle, d: Handle) -> None:
        bits = a.dtype.scalar.primitive_bitwidth
        least = _LEAST_K.get(bits, 16)
        if a.shape[-1] < least:
            self.reject(f"tl.dot with K = {a.shape[-1]}: tensor cores need at least {least} for {bits}-bit operands")
        if a.dtype.scalar.name == "fp64" and d.dtype.scalar.name != "fp64":
            self.reject(
                f"tl.dot of fp64 blocks with a {d.dtype.scalar.name} accumulator: make the accumulator fp64", stop=True
            )

    def reject(self, why: str, stop: bool = False) -> None:
        """Note that the compiler refuses this line; with `stop` the kernel cannot go on."""
        machine, place = self.machine, here()
        self.recording.emit(lambda: machine.launch.reject(why, place, stop), (), tl.void, (), effect=True)

    def create_inline_asm(self, asm: str, *_: Any) -> Handle:
        """Refused in words: PTX has no form on the CPU."""
        raise CannotBeJudged(f"cannot be judged on a CPU: inline assembly `{asm}`: {ON_A_GPU}")

    # assertions and printing
    def create_assert(self, condition: Handle, message: Any) -> None:
        """`tl.device_assert`: an event, or an AssertionError when nobody observes."""
        self._claim(condition, f"tl.device_assert: {message}")

    def create_assume(self, condition: Handle) -> Handle:
        """`tl.assume` of something false, from which the compiler may conclude anything."""
        self._claim(condition, "tl.assume of a condition that is false")
        return condition

    def _claim(self, condition: Handle, message: str) -> None:
        machine, place, shape = self.machine, here(), condition.shape

        def check(value: Array) -> None:
            if not value.all():
                machine.launch.claim(value, shape, message, place)

        self.recording.emit(check, (condition,), tl.void, (), effect=True)

    def create_print(self, prefix: str, hex: bool, values: Sequence[Handle], *_: Any) -> None:
        """`tl.device_print`, program by program in the order of the batch."""
        machine = self.machine

        def show(*arrays: Array) -> None:
            for row, ids in enumerate(machine.batch.ids):
                head = f"({ids[0]}, {ids[1]}, {ids[2]}) {prefix}".rstrip()
                for value in arrays:
                    print(head, value[row if value.shape[0] > 1 else 0])

        self.recording.emit(show, tuple(values), tl.void, (), effect=True)

    # what has no form for many programs at once runs the stock code, one program after another
    def one_by_one(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result of a stock builder method, called for each program."""
        handles: list[Handle] = []
        _walk(args, handles.append)
        method = getattr(stock.interpreter_builder, name)
        recording = self.recording
        dtypes = [h.dtype for h in handles]
        shapes = [h.shape or (1,) for h in handles]
        slot = recording.next
        node = recording.node

        def run(*arrays: Array) -> Array:
            n = max([v.shape[0] for v in arrays], default=1)
            results = []
            for row in range(n):
                given = iter(
                    stock.TensorHandle(np.array(expand(v, s)[row if v.shape[0] > 1 else 0]), d)
                    for v, s, d in zip(arrays, shapes, dtypes, strict=True)
                )
                results.append(method(*_map(args, _in_turn(given)), **kwargs))
            node.extra[slot] = (results[0].dtype, results[0].data.shape)
            return np.stack([r.data for r in results])

        result = recording.emit(run, handles, tl.void, (), effect=True)
        dtype, shape = node.extra[slot]
        result.dtype = dtype
        result.shape = tuple(shape)
        return result


def _walk(value: Any, visit: Callable[[Handle], Any]) -> None:
    if isinstance(value, Handle):
        visit(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _walk(item, visit)


def _map(value: Any, change: Callable[[Handle], Any]) -> Any:
    if isinstance(value, Handle):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_map(item, change) for item in value)
    return value


def _in_turn(values: Iterator[Any]) -> Callable[[Handle], Any]:
    return lambda _: next(values)


def _half_steps(x: Array, y: Array, z: Array) -> Array:
    total = z.astype(np.float16)
    for k in range(0, x.shape[-1], _HALF_STEP):
        part = np.matmul(
            x[..., k : k + _HALF_STEP].astype(np.float32), y[..., k : k + _HALF_STEP, :].astype(np.float32)
        )
        total = (total.astype(np.float32) + part).astype(np.float16)
    return total


_ELEMENTWISE = ("binary_op", "unary_op", "ternary_op", "cast_impl", "create_idiv")
for _name in dir(stock.InterpreterBuilder):
    _method = getattr(stock.InterpreterBuilder, _name)
    if not _name.startswith("create_") or getattr(Blocks, _name) is not _method:
        continue
    if _name in ("create_barrier", "create_extern_elementwise"):
        continue
    if not set(_method.__code__.co_names) & set(_ELEMENTWISE) or _name == "create_umulhi":

        def _method(self: Blocks, *args: Any, _stock: str = _name, **kwargs: Any) -> Any:
            return self.one_by_one(_stock, args, kwargs)

        setattr(Blocks, _name, _method)


# reductions and scans


def _reducer(op: Callable[..., Any], axis: int | None, keep: bool, cast: Any, shape: tuple[int, ...]) -> Any:
    def reduce(value: Array) -> Array:
        value = expand(value, shape)
        n = value.shape[0]
        if axis is None:
            result = op(value.reshape(n, -1), axis=1).reshape(n, *((1,) * len(shape) if keep else (1,)))
        else:
            result = op(value, axis=axis + 1, keepdims=keep)
            if result.ndim == 1:
                result = result.reshape(n, 1)
        reduced: Array = result.astype(cast, copy=False)
        return reduced

    return reduce


def _nan_arg(op: Callable[..., Any], empty: float) -> Callable[..., Any]:
    # Triton's argmax skips NaN; of NaN alone the first lane wins, where NumPy raises
    def arg(value: Array, **kwargs: Any) -> Any:
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), value.dtype.type(empty), value)
        return op(value, **kwargs)

    return arg


# up to Triton 3.7 argmax gives the index of a NaN
_SKIPS_NAN = "nanargmax" in stock.ReduceOps.apply_impl.__code__.co_names


def _half_tree(name: str) -> Callable[..., Any]:
    """Sums rounded at every step of the halving tree that a warp's shuffles make."""

    def tree(value: Array, axis: int, keepdims: bool = False) -> Array:
        x = np.moveaxis(value, axis, -1)
        x = x.astype(np.float32) if name == "fp16" else formats.decode(x, name)
        while x.shape[-1] > 1:
            half = x.shape[-1] // 2
            x = formats.round_to(x[..., :half] + x[..., half:], name)
        x = x[..., 0].astype(np.float16) if name == "fp16" else formats.encode(x[..., 0], name)
        return np.expand_dims(x, axis) if keepdims else x

    return tree


def _decoded(op: Callable[..., Any], name: str) -> Callable[..., Any]:
    def run(value: Array, **kwargs: Any) -> Any:
        return op(formats.decode(value, name), **kwargs)

    return run


def _native(builder: Blocks, name: str, dtype: Any) -> list[tuple[Callable[..., Any], Any]] | None:
    """(NumPy function, result type) for each result of a combine function of Triton's standard library."""
    small = dtype.name in formats.SMALL and "arithmetic" in builder.repairs
    back = functools.partial(formats.encode, name=dtype.name)

    def most(op: Callable[..., Any]) -> Callable[..., Any]:
        if not small:
            return op
        decoded = _decoded(op, dtype.name)
        return lambda value, **kwargs: back(decoded(value, **kwargs))

    if name == "_sum_combine":
        if "sums" in builder.repairs and (small or dtype.name == "fp16"):
            return [(_half_tree(dtype.name), dtype)]
        return None if small else [(np.add.reduce, dtype)]
    if name in ("_elementwise_max", "_elementwise_min"):
        return [(most(np.fmax.reduce if name.endswith("max") else np.fmin.reduce), dtype)]
    if name.startswith(("_argmax_combine", "_argmin_combine")):
        biggest = name.startswith("_argmax")
        if not _SKIPS_NAN:
            value, arg = (np.max, np.argmax) if biggest else (np.min, np.argmin)
            return [(most(value), dtype), (_decoded(arg, dtype.name) if small else arg, tl.int32)]
        value = most(np.fmax.reduce if biggest else np.fmin.reduce)
        arg = _nan_arg(np.argmax, -np.inf) if biggest else _nan_arg(np.argmin, np.inf)
        return [(value, dtype), (_decoded(arg, dtype.name) if small else arg, tl.int32)]
    return None


def tensor(handle: Handle, dtype: Any, shape: tuple[int, ...]) -> Any:
    """The handle as a tensor of Triton's language."""
    return tl.core.tensor(handle, tl.block_type(dtype, list(shape)) if shape else dtype)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _combine_name(combine_fn: Any) -> str:
    fn = combine_fn.fn
    return str(fn.__name__) if fn.__module__ == "triton.language.standard" else ""


def reduce(builder: Blocks, given: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """`tl.reduce`: NumPy's reduction where the standard library's function is known, else a fold in index order."""
    single = not isinstance(given, (tuple, tl.core.tuple))
    tensors = [given] if single else list(given)
    axis, keep = _plain(axis), bool(_plain(keep_dims))
    handles = [t.handle for t in tensors]
    shape = tuple(handles[0].shape)
    rank = len(shape)
    if axis is not None:
        axis = axis if axis >= 0 else axis + rank
        if axis >= rank:
            raise ValueError(f"axis {axis} out of bounds for shape {list(shape)}")
    if keep:
        out = (1,) * rank if axis is None else (*shape[:axis], 1, *shape[axis + 1 :])
    else:
        out = () if axis is None else (*shape[:axis], *shape[axis + 1 :])
    recording = builder.recording
    found = _native(builder, _combine_name(combine_fn), handles[0].dtype.scalar)
    if found is not None and (single or len(found) == len(tensors)):
        results = [
            tensor(
                recording.emit(_reducer(op, axis, keep, numpy_dtype(dtype), shape), (handles[0],), dtype, out),
                dtype,
                out,
            )
            for op, dtype in found
        ]
    else:
        results = [
            tensor(_kept(builder, t.handle, keep, out), t.dtype, out)
            for t in _fold(builder, tensors, shape, axis, combine_fn)[-1]
        ]
    return results[0] if single else tuple(results)


def _kept(builder: Blocks, handle: Handle, keep: bool, out: tuple[int, ...]) -> Handle:
    if not keep:
        return handle
    shape = handle.shape or (1,)
    return builder.recording.emit(lambda v: expand(v, shape).reshape(v.shape[0], *out), (handle,), handle.dtype, out)


def _fold(builder: Blocks, tensors: list[Any], shape: tuple[int, ...], axis: int | None, combine_fn: Any) -> list[Any]:
    """The partial results of a combine function over whole slices, in index order."""
    recording = builder.recording
    if axis is None:
        rest: tuple[int, ...] = ()
        count = int(np.prod(shape))
    else:
        rest = (*shape[:axis], *shape[axis + 1 :])
        count = shape[axis]

    def slice_of(t: Any, i: int) -> Any:
        def pick(value: Array) -> Array:
            value = expand(value, shape)
            n = value.shape[0]
            if axis is None:
                return value.reshape(n, -1)[:, i : i + 1]
            part: Array = np.take(value, i, axis=axis + 1)
            return part if rest else part.reshape(n, 1)

        handle = recording.emit(pick, (t.handle,), t.handle.dtype.scalar, rest)
        return tensor(handle, t.dtype, rest)

    accumulated = [[slice_of(t, 0) for t in tensors]]
    for i in range(1, count):
        result = combine_fn.fn(*accumulated[-1], *[slice_of(t, i) for t in tensors])
        accumulated.append(list(result) if isinstance(result, (tuple, tl.core.tuple)) else [result])
    return accumulated


_SCANS: dict[str, Callable[..., Any]] = {"_sum_combine": np.cumsum, "_prod_combine": np.cumprod}


def scan(builder: Blocks, given: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """`tl.associative_scan`: NumPy's cumulative function where there is one, else a fold in index order."""
    single = not isinstance(given, (tuple, tl.core.tuple))
    tensors = [given] if single else list(given)
    axis, back = _plain(axis), bool(_plain(reverse))
    shape = tuple(tensors[0].handle.shape)
    axis = axis if axis >= 0 else axis + len(shape)
    recording = builder.recording
    turn = (slice(None),) * (axis + 1) + (slice(None, None, -1),)

    def turned(t: Any) -> Any:
        handle = recording.emit(
            lambda v: np.ascontiguousarray(expand(v, shape)[turn]), (t.handle,), t.handle.dtype.scalar, shape
        )
        return tensor(handle, t.dtype, shape)

    if back:
        tensors = [turned(t) for t in tensors]
    dtype = tensors[0].handle.dtype.scalar
    op = _SCANS.get(_combine_name(combine_fn)) if single and dtype.name not in formats.SMALL else None
    if op is not None and not (dtype.name == "fp16" and "sums" in builder.repairs):
        cast = numpy_dtype(dtype)
        handle = recording.emit(
            lambda v: op(expand(v, shape), axis=axis + 1).astype(cast, copy=False), (tensors[0].handle,), dtype, shape
        )
        results = [tensor(handle, tensors[0].dtype, shape)]
    else:
        partial = _fold(builder, tensors, shape, axis, combine_fn)
        results = []
        for j, t in enumerate(tensors):
            parts = [row[j].handle for row in partial]
            rest = (*shape[:axis], *shape[axis + 1 :])

            def join(*values: Array, rest: tuple[int, ...] = rest) -> Array:
                n = max(v.shape[0] for v in values)
                full = [np.broadcast_to(v if rest else v[:, 0], (n, *rest)) for v in values]
                return np.stack(full, axis + 1)

            handle = recording.emit(join, parts, t.handle.dtype.scalar, shape)
            results.append(tensor(handle, t.dtype, shape))
    if back:
        results = [turned(t) for t in results]
    return results[0] if single else tuple(results)
