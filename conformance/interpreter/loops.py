"""`for i in range(...)`: the variable is a scalar with a type, as the compiler makes it, not Python's integer.

It takes the type of the bounds, has `.to()` and `.dtype`, and computes as every scalar does: `//` and `%` truncate
towards zero, `/` gives a float, a sum wraps. (`tl.static_range` is unrolled, and its variable is a Python integer for
the compiler, too.) What the tape asks of the bounds is how often the loop runs, and where the loop can be rolled
(`rolling`) not even that.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as stock

from conformance.interpreter import rolling
from conformance.interpreter.builder import Array, Builder, numpy_dtype


def _bounds(values: Sequence[Any], options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Start, stop and step; `options` may have tl.range's names for them."""
    given = [v.value if isinstance(v, tl.constexpr) else v for v in values]
    given += [None] * (3 - len(given))
    first, second, step = (
        options[name] if value is None and name in options else value
        for name, value in zip(("arg1", "arg2", "step"), given, strict=True)
    )
    step = 1 if step is None else step.value if isinstance(step, tl.constexpr) else step
    return (0, first, step) if second is None else (first, second, step)


def _integral(value: Any) -> bool:
    if isinstance(value, tl.tensor):
        return value.dtype.is_int() and not value.type.is_block()
    return isinstance(value, int)


def _type(value: Any) -> Any:
    """The integer type that a bound has for the compiler."""
    if isinstance(value, tl.tensor):
        return value.dtype
    return tl.int32 if -(2**31) <= value < 2**31 else tl.int64


def _iterations(start: Array, stop: Array, step: Array) -> Array:
    if start.size == stop.size == step.size == 1 and step.item():
        return np.array([[max(0, -((start.item() - stop.item()) // step.item()))]])
    first, last, by = (v.astype(np.int64) for v in (start, stop, step))
    if not by.all():
        raise ValueError("the step of a range is zero")
    span = np.where(by > 0, last - first, first - last)
    return np.asarray(np.maximum(-(-span // np.abs(by)), 0))


def _constant(builder: Builder, value: int, dtype: Any) -> Any:
    if dtype.is_int_unsigned():
        value %= 1 << dtype.primitive_bitwidth
    array = np.array([[value]], np.int64).astype(numpy_dtype(dtype))
    return tl.tensor(builder.recording.constant(array, dtype), dtype)


def loop(builder: Builder, function: Callable[..., Iterable[Any]], *values: Any, **options: Any) -> Iterable[Any]:
    """What `for i in function(*values, **options)` iterates over, `function` being `range` or `tl.range`."""
    if function is not builtins.range and function is not tl.range:
        return function(*values, **options)  # a function of the kernel's author that is called so
    bounds = _bounds(values, options)
    if not all(map(_integral, bounds)):
        return function(*values, **options)
    dtype = tl.int32
    for bound in bounds:
        dtype = stock.interpreter_semantic.integer_promote_impl(dtype, _type(bound))
    known = [_known(builder, bound) for bound in bounds]
    start, stop, step = known
    if start is not None and stop is not None and step is not None:
        return (_constant(builder, value, dtype) for value in range(start, stop, step))
    scalars = [
        _constant(builder, k, dtype) if k is not None else b.to(dtype) for k, b in zip(known, bounds, strict=True)
    ]
    count = builder.recording.emit(_iterations, [s.handle for s in scalars], tl.int64)
    if rolling.wanted(builder, sys._getframe(1)):
        return rolling.roll(builder, scalars[0], scalars[2], count)
    times = builder.recording.guard(count, int)
    if start is not None and step is not None:
        return (_constant(builder, start + i * step, dtype) for i in range(times))
    return _counted(scalars[0], scalars[2], times)


def _known(builder: Builder, bound: Any) -> int | None:
    """The value of a bound that is the same in every launch of the tape."""
    if not isinstance(bound, tl.tensor):
        return int(bound)
    return int(builder.recording.guard(bound.handle, int)) if bound.handle.constant else None


def _counted(value: Any, step: Any, times: int) -> Iterator[Any]:
    for i in range(times):
        if i:
            value = value + step
        yield value
