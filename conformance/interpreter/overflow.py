"""32-bit offsets that wrap round: found where they reach an address, and only there.

Hashes and random number generators overflow on purpose, so an overflowed number by itself says nothing. What counts is
a pointer moved by one. For every offset that is added to a pointer the tape carries an interval, computed from the
smallest and largest value of the inputs in exact integers; only where an interval leaves 32 bits the offset is
evaluated lane by lane in 64 bits. `//`, `%`, shifts and bit operations end a chain: a wrapped hash reduced to a table
size is a legal index.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from conformance.interpreter.tape import Handle, Recording

Array = np.ndarray[Any, Any]
Place = tuple[str, int]
Interval = tuple[int, int, bool]  # smallest, largest, and whether a 32-bit step on the way may have overflowed

_LOW, _HIGH = -(2**31), 2**31 - 1
# a chain longer than this (an offset advanced in a loop) starts again from the value it has
_LONGEST = 256


class Chain:
    """How an offset came about: sums, differences and products of 32-bit numbers, seen through casts and reshapes."""

    __slots__ = ("depth", "function", "interval", "kind", "leaves", "narrow", "parts", "place", "steps")

    def __init__(
        self,
        kind: str,
        parts: tuple[Any, ...],
        function: Callable[..., Any] | None = None,
        narrow: bool = False,
        place: Place = ("?", 0),
    ) -> None:
        self.kind, self.parts, self.function, self.narrow, self.place = kind, parts, function, narrow, place
        self.interval: Handle | None = None
        # whether there is anything in the chain that can overflow
        self.steps = narrow or (kind != "leaf" and any(p.steps for p in parts))
        if kind == "leaf":
            self.depth = 0
            self.leaves: tuple[Handle, ...] = parts
            return
        self.depth = 1 + max(p.depth for p in parts)
        known: dict[int, Handle] = {}
        for part in parts:
            for leaf in part.leaves:
                known[leaf.slot] = leaf
        self.leaves = tuple(known.values())


def chain_of(handle: Handle) -> Chain:
    """The handle's chain, a leaf where its value comes from something else."""
    chain = handle.derived
    return chain if isinstance(chain, Chain) and chain.depth < _LONGEST else Chain("leaf", (handle,))


def _leaf_interval(value: Array) -> Interval:
    if value.size == 1:
        number = int(value.item())
        return number, number, False
    if not value.size:
        return 0, 0, False
    # a third of the time of min() and max() on a block
    return int(value.item(int(value.argmin()))), int(value.item(int(value.argmax()))), False


def _add(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1], a[2] or b[2]


def _sub(a: Interval, b: Interval) -> Interval:
    return a[0] - b[1], a[1] - b[0], a[2] or b[2]


def _mul(a: Interval, b: Interval) -> Interval:
    if a[0] >= 0 and b[0] >= 0:  # nearly every offset
        return a[0] * b[0], a[1] * b[1], a[2] or b[2]
    products = a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]
    return min(products), max(products), a[2] or b[2]


def _hull(_: Interval, a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1]), a[2] or b[2]


def _narrow(op: Callable[[Interval, Interval], Interval]) -> Callable[[Interval, Interval], Interval]:
    def run(a: Interval, b: Interval) -> Interval:
        low, high, bad = op(a, b)
        return low, high, bad or low < _LOW or high > _HIGH

    return run


_WIDE: dict[str, Callable[..., Interval]] = {"add": _add, "sub": _sub, "mul": _mul}
_NARROW = {name: _narrow(op) for name, op in _WIDE.items()}
_EXACT: dict[str, Callable[..., Any]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def _interval(recording: Recording, chain: Chain) -> Handle:
    if chain.interval is None:
        if chain.kind == "leaf":
            made = recording.emit(_leaf_interval, chain.parts, None)
        elif chain.kind == "shape":
            return _interval(recording, chain.parts[0])
        elif chain.kind == "where":
            made = recording.emit(_hull, [_interval(recording, p) for p in chain.parts], None)
        else:
            op = (_NARROW if chain.narrow else _WIDE)[chain.kind]
            made = recording.emit(op, [_interval(recording, p) for p in chain.parts], None)
        chain.interval = made
    return chain.interval


class Taint:
    """The lanes of an offset that wrapped, and the line where it happened."""

    __slots__ = ("detail", "lanes", "place")

    def __init__(self, lanes: Array, place: Place, detail: str) -> None:
        self.lanes, self.place, self.detail = lanes, place, detail


def watch(recording: Recording, chain: Chain) -> Handle | None:
    """The handle of the offset's taint, None for an offset that cannot overflow; the value is None or a `Taint`."""
    if not chain.steps:
        return None
    leaves = chain.leaves
    slots = [leaf.slot for leaf in leaves]

    def check(interval: Interval, *values: Array) -> Taint | None:
        if not interval[2]:
            return None
        found: list[tuple[Place, str]] = []
        known: dict[int, tuple[Array, Array | None]] = {}
        taint = _evaluate(chain, dict(zip(slots, values, strict=True)), known, found)[1]
        if taint is None or not taint.any():
            return None
        return Taint(taint, *found[0])

    return recording.emit(check, [_interval(recording, chain), *leaves], None)


def _evaluate(
    chain: Chain, values: dict[int, Array], known: dict[int, tuple[Array, Array | None]], found: list[tuple[Place, str]]
) -> tuple[Array, Array | None]:
    """The chain's value in 64 bits, and the lanes in which a 32-bit step overflowed."""
    done = known.get(id(chain))
    if done is not None:
        return done
    if chain.kind == "leaf":
        value: Array = values[chain.parts[0].slot]
        result: tuple[Array, Array | None] = (value if value.dtype == np.bool_ else value.astype(np.int64), None)
    elif chain.kind == "shape":
        assert chain.function is not None
        inner, bad = _evaluate(chain.parts[0], values, known, found)
        if bad is not None:
            bad = chain.function(np.broadcast_to(bad, np.broadcast_shapes(bad.shape, inner.shape)))
        result = chain.function(inner), bad
    else:
        parts = [_evaluate(p, values, known, found) for p in chain.parts]
        numbers, bads = [p[0] for p in parts], [p[1] for p in parts]
        if chain.kind == "where":
            zero = np.zeros((1,) * numbers[0].ndim, np.bool_)
            one, two = (zero if b is None else b for b in bads[1:])
            result = np.where(*numbers), np.where(numbers[0], one, two)
        else:
            exact = _EXACT[chain.kind](*numbers)
            tainted = [b for b in bads if b is not None]
            if chain.narrow:
                outside = (exact < _LOW) | (exact > _HIGH)
                if outside.any():
                    if not tainted:
                        first = int(exact[outside].reshape(-1)[0])
                        found.append((chain.place, f"int32 {chain.kind} overflows: {first} becomes {_wrap(first)}"))
                    tainted.append(outside)
                exact = exact.astype(np.int32).astype(np.int64)
            result = exact, _union(tainted)
    known[id(chain)] = result
    return result


def _wrap(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _union(taints: Sequence[Array]) -> Array | None:
    total: Array | None = None
    for taint in taints:
        total = taint if total is None else total | taint
    return total


def join(recording: Recording, one: Handle | None, two: Handle | None) -> Handle | None:
    """The taint of a pointer that was moved twice."""
    if one is None or two is None:
        return one if two is None else two

    def both(a: Taint | None, b: Taint | None) -> Taint | None:
        if a is None or b is None:
            return a if b is None else b
        return Taint(a.lanes | b.lanes, a.place, a.detail)

    return recording.emit(both, (one, two), None)
