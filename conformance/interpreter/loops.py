"""Variables of `range` loops: integers with a width, as the compiler makes them, not Python's.

The compiler gives `for i in range(...)` a scalar of the bounds' type: it has `.to()` and `.dtype`, and `//` and `%`
truncate towards zero. (`tl.static_range` is unrolled, and its variable is a Python integer for the compiler, too.)
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any

import triton.language as tl
import triton.runtime.interpreter as stock


def quotient(a: int, b: int) -> int:
    """a / b, truncated towards zero."""
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def remainder(a: int, b: int) -> int:
    """a - quotient(a, b) * b, which has the sign of a."""
    return a - quotient(a, b) * b


def _width(value: Any) -> Any:
    """The integer type that a bound of a loop has for the compiler."""
    if isinstance(value, LoopIndex):
        return value.dtype
    if isinstance(value, tl.tensor) and value.dtype.is_int():
        return value.dtype
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        return tl.int64
    return tl.int32


def _wider(a: Any, b: Any) -> Any:
    return stock.interpreter_semantic.integer_promote_impl(a, b)


class LoopIndex(int):
    """The value of a loop's variable, and what arithmetic of it with integers and constexprs gives.

    Everything that is not defined here is that of the Python integer: comparisons, indexing, truth, and operations
    with tensors, which make a scalar of it.
    """

    dtype: Any

    def __new__(cls, value: int, dtype: Any) -> LoopIndex:
        """An integer of a type of Triton's."""
        self = super().__new__(cls, value)
        self.dtype = dtype
        return self

    @property
    def type(self) -> Any:
        """The type of the scalar."""
        return self.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """No dimensions."""
        return ()

    def to(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The scalar tensor of another type."""
        value = int(self)
        if self.dtype.is_int_unsigned():
            value %= 1 << self.dtype.primitive_bitwidth
        return stock.interpreter_semantic.scalar_constant(value, self.dtype).to(dtype, *args, **kwargs)

    cast = to

    def __neg__(self) -> LoopIndex:
        return LoopIndex(-int(self), self.dtype)

    def __invert__(self) -> LoopIndex:
        return LoopIndex(~int(self), self.dtype)


def _operator(compute: Callable[[int, int], int], reflected: bool) -> Callable[[LoopIndex, Any], Any]:
    def operate(self: LoopIndex, other: Any) -> Any:
        value = other.value if isinstance(other, tl.constexpr) else other
        if not isinstance(value, int):
            return NotImplemented
        a, b = (int(value), int(self)) if reflected else (int(self), int(value))
        result = compute(a, b)
        return LoopIndex(result, _wider(_wider(self.dtype, _width(value)), _width(result)))

    return operate


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
    "lshift": int.__lshift__,
    "rshift": int.__rshift__,
    "floordiv": quotient,
    "mod": remainder,
}
for _name, _compute in _OPERATORS.items():
    setattr(LoopIndex, f"__{_name}__", _operator(_compute, reflected=False))
    setattr(LoopIndex, f"__r{_name}__", _operator(_compute, reflected=True))


def loop(function: Callable[..., Iterable[Any]], *bounds: Any, **options: Any) -> Iterable[Any]:
    """What `for i in function(*bounds, **options)` iterates over, `function` being `range` or `tl.range`."""
    values = function(*bounds, **options)
    if not isinstance(values, builtins.range):
        return values
    dtype = tl.int32
    for bound in (*bounds, options.get("step")):
        dtype = _wider(dtype, _width(bound.value if isinstance(bound, tl.constexpr) else bound))
    return (LoopIndex(value, dtype) for value in values)
