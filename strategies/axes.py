"""Axes: the sizes of named axes and the relations between them, which hold by construction."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis.errors import InvalidArgument

from strategies.choices import Data, integer, refuse
from strategies.shapes import BLOCKS, LONG, LONGEST, Ladder, Stretch, ladder, stretch

#: The largest number of elements of a tensor in most calls: interpreted kernels take about a microsecond for each.
MAX_ELEMENTS = 4096
# The same in the calls with a long axis: a little over 16,384 where one tensor has all axes, the long one as its last,
# over 32,768 where that is the only one. Other axes are often walked in small steps, the depth of a matrix product by
# tiles and the rows in the gradient of a weight one by one, and an interpreted step takes 0.15 ms: a little over 4,096.
_ROWS, _ALONE, _WALKED = 20480, 36864, 4224
# One call in so many has an axis long, for each axis that may be; no more than one in eight calls together.
_TURNS, _MOST_LONG = 20, 8


@dataclasses.dataclass(frozen=True, slots=True)
class Axis:
    """How the size of one axis comes about; made by `sizes`, `even`, `multiple_of`, `at_most`, `ceil_div`, `fixed` and
    `derived`."""

    kind: str = "sizes"
    of: tuple[str, ...] = ()
    min: int = 0
    max: int | None = None  # None where only the budget of a call bounds the axis
    multiple: int = 1
    blocks: tuple[int, ...] = BLOCKS
    function: Callable[..., int] | None = None

    def __repr__(self) -> str:
        most = "" if self.max is None else self.max
        return f"{self.kind}({', '.join(self.of) or f'{self.min}..{most}'})"

    def within(self, largest: int) -> Axis:
        """The same axis, no longer than `largest`; one that follows from others stays as it is."""
        if self.kind != "sizes" or (self.max is not None and self.max <= largest):
            return self
        return dataclasses.replace(self, max=largest)


def _whole(argument: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise refuse(argument, value, f"give a whole number of at least {least}")
    return value


def sizes(*, min: int = 0, max: int | None = None, multiple: int = 1, blocks: tuple[int, ...] = BLOCKS) -> Axis:
    """An axis of any size from `min` to `max` that divides by `multiple`, aimed at the edges of tiles of the sizes
    `blocks`; without `max` the element budget bounds it."""
    _whole("min", min, 0)
    _whole("multiple", multiple, 1)
    if max is not None and _whole("max", max, min) // multiple * multiple < min:
        raise refuse("multiple", multiple, f"no multiple of it lies between min={min} and max={max}")
    if not isinstance(blocks, tuple) or not all(isinstance(block, int) and block > 0 for block in blocks):
        raise refuse("blocks", blocks, "give a tuple of tile edges, for example (64, 128)")
    return Axis("sizes", (), min, max, multiple, blocks)


def even(*, min: int = 0, max: int | None = None) -> Axis:
    """An axis of even size, as rotary embeddings need."""
    return sizes(min=min, max=max, multiple=2)


def fixed(size: int) -> Axis:
    """An axis that always has this size."""
    _whole("size", size, 0)
    return Axis("fixed", (), size, size)


def multiple_of(other: str | int, *, min: int = 1, max: int = 8) -> Axis:
    """An axis whose size is a multiple of another axis (`min` to `max` times it), or of a number."""
    if isinstance(other, int):
        return sizes(multiple=_whole("other", other, 1))
    _whole("min", min, 0)
    return Axis("multiple_of", (_name("other", other),), min, _whole("max", max, min))


def at_most(other: str, *, min: int = 0, blocks: tuple[int, ...] = BLOCKS) -> Axis:
    """An axis that is not longer than another one; equal sizes come up often."""
    return Axis("at_most", (_name("other", other),), _whole("min", min, 0), blocks=blocks)


def ceil_div(other: str, divisor: int) -> Axis:
    """An axis with one entry for every `divisor` entries of another one, the last group perhaps not full."""
    _whole("divisor", divisor, 1)
    return Axis("ceil_div", (_name("other", other),), function=lambda size: -(-size // divisor))


def derived(function: Callable[..., int], *others: str) -> Axis:
    """An axis whose size is `function` of the sizes of other axes; it should not fall where they grow."""
    if not callable(function):
        raise refuse("function", function, "give a function of the sizes of the named axes")
    if not others:
        raise refuse("others", others, "name the axes that the function takes; for a constant use kst.fixed")
    return Axis("derived", tuple(_name("others", other) for other in others), function=function)


def _name(argument: str, value: object) -> str:
    if not isinstance(value, str) or not value.isidentifier():
        raise refuse(argument, value, "give the name of an axis")
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class Dimension:
    """One axis of an argument: a name, a number, or a sum or product of those, such as "2*half" or "cols+1"."""

    text: str
    names: tuple[str, ...]
    # set where the dimension is `names[0]` itself, the usual case
    plain: bool
    code: Any = dataclasses.field(compare=False, repr=False)

    def size(self, sizes: Mapping[str, int]) -> int:
        """The size, for the sizes of the named axes."""
        if self.plain:
            return sizes[self.text]
        return int(eval(self.code, {"__builtins__": {}}, dict(sizes)))


@functools.lru_cache(maxsize=1024)
def dimension(axis: str | int) -> Dimension:
    """The dimension that `axis` stands for. Raises InvalidArgument where it is no name, number, sum or product."""
    if isinstance(axis, int) and not isinstance(axis, bool):
        _whole("axis", axis, 0)
        text = str(axis)
    elif isinstance(axis, str):
        text = axis.strip()
    else:
        raise refuse("axis", axis, "an axis is a name, a whole number, or a sum or product such as '2*half'")
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        tree = None
    names: list[str] = []
    if tree is None or not _is_expression(tree, names):
        raise refuse("axis", axis, "an axis is a name, a whole number, or a sum or product such as '2*half'")
    code = compile(ast.Expression(tree), f"<axis {text}>", "eval")
    return Dimension(text, tuple(dict.fromkeys(names)), isinstance(tree, ast.Name), code)


def _is_expression(tree: ast.AST, names: list[str]) -> bool:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Mult)):
        return _is_expression(tree.left, names) and _is_expression(tree.right, names)
    if isinstance(tree, ast.Name):
        names.append(tree.id)
        return True
    return isinstance(tree, ast.Constant) and type(tree.value) is int and tree.value >= 0


class Frame:
    """The axes of a call in an order in which they can be drawn, within the budgets of its tensors.

    `shapes` are the dimensions of each tensor; no tensor gets more than `max_elements` elements (4,096 where that is
    None), and the product of all free axes stays below 16 times that, since an op may combine every axis with every
    other (a matrix product does). An axis without a largest size has up to 1100 entries, or a quarter of a budget that
    is larger than that. Fixed sizes and the least sizes of axes are kept even where they exceed the budget.

    Now and then one of the axes `long` (None: every axis that may be) ends next to a larger power of two, and the
    others are short. The product of all axes of such a call stays within `max_elements`, or 36,864 at most.
    """

    def __init__(
        self,
        shapes: tuple[tuple[Dimension, ...], ...],
        axes: Mapping[str, Axis],
        max_elements: int | None,
        at_least_one: frozenset[str] = frozenset(),
        long: frozenset[str] | None = None,
    ) -> None:
        used = [name for shape in reversed(shapes) for dim in reversed(shape) for name in dim.names]
        # the last axis first: tiles and reductions run along it, so it gets the room
        budget = MAX_ELEMENTS if max_elements is None else max_elements
        self._largest = LONGEST if budget <= 4 * LONGEST else budget // 4
        self._axes = {name: axes.get(name, Axis()) for name in dict.fromkeys(used)}
        self._add_sources(axes)
        for name in axes:
            if name not in self._axes:
                known = ", ".join(sorted(dict.fromkeys(used))) or "none"
                raise refuse("axes", name, f"no argument has an axis {name!r}; there are {known}")
        self.order = self._sorted()
        for name in at_least_one:
            self._fill(name, name)
        self._shapes = shapes
        self._usual = (budget, 16 * budget)
        least: dict[str, int] = {}
        for name in self.order:
            least[name] = self._least(name, least)
        self._minimal = least
        self._steps = tuple(self._step(name) for name in self.order)
        self._stretches = self._stretched(max_elements, long)
        self._turns = max(_TURNS, _MOST_LONG * len(self._stretches))

    @property
    def long(self) -> tuple[str, ...]:
        """The axes that are long in some calls."""
        return tuple(name for name, _ in self._stretches)

    def _stretched(self, max_elements: int | None, long: frozenset[str] | None) -> tuple[tuple[str, Stretch], ...]:
        free = [name for name in self.order if self._axes[name].kind == "sizes"]
        together = any(set(free) <= {name for dim in shape for name in dim.names} for shape in self._shapes)
        budget = max_elements or (_ALONE if len(free) == 1 else _ROWS if together else _WALKED)
        self._long = (budget, budget)
        outer = {name for shape in self._shapes for dim in shape[:-1] for name in dim.names}
        found = []
        for name, axis, _, touching in self._steps:
            if name in free and (long is None or name in long) and self._largest < LONG[0]:
                longest = min(budget, _WALKED) if name in outer else budget
                most = self._room(name, touching, self._minimal, min(axis.max or budget, longest), self._long)
                steps = stretch(axis.min, most, axis.multiple)
                if steps is not None:
                    found.append((name, steps))
        return tuple(found)

    def _fill(self, name: str, wanted: str) -> None:
        """Let `name`, and what it depends on, have at least one entry, so that `wanted` has."""
        axis = self._axes[name]
        if axis.kind == "fixed" and axis.min == 0:
            raise refuse(f"axes[{name!r}]", axis, f"{wanted!r} is indexed and must have an entry")
        if axis.min == 0 and axis.function is None:
            self._axes[name] = dataclasses.replace(axis, min=1)
        for other in axis.of:
            self._fill(other, wanted)

    def _add_sources(self, axes: Mapping[str, Axis]) -> None:
        pending = list(self._axes)
        while pending:
            for other in self._axes[pending.pop()].of:
                if other not in self._axes:
                    if other not in axes:
                        raise refuse("axes", other, f"no argument and no entry of axes= is called {other!r}")
                    self._axes[other] = axes[other]
                    pending.append(other)

    def _sorted(self) -> tuple[str, ...]:
        order: list[str] = []
        open_: list[str] = []

        def visit(name: str) -> None:
            if name in order:
                return
            if name in open_:
                circle = " -> ".join([*open_[open_.index(name) :], name])
                raise InvalidArgument(f"axes: {name!r} depends on itself ({circle}); draw one of them freely")
            open_.append(name)
            for other in self._axes[name].of:
                visit(other)
            open_.pop()
            order.append(name)

        for name in self._axes:
            visit(name)
        return tuple(order)

    def _least(self, name: str, sizes: dict[str, int]) -> int:
        axis = self._axes[name]
        if axis.function is not None:
            # a function of empty axes may be anything: the budget counts one entry at least
            return self._derive(name, axis, sizes)
        if axis.kind == "multiple_of":
            return axis.min * sizes[axis.of[0]]
        return max(1, -(-axis.min // axis.multiple) * axis.multiple)

    def _derive(self, name: str, axis: Axis, sizes: Mapping[str, int]) -> int:
        assert axis.function is not None
        size = axis.function(*(sizes[other] for other in axis.of))
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise refuse(
                f"axes[{name!r}]", size, "the function of a derived axis must give a whole number of at least 0"
            )
        return size

    def _step(self, name: str) -> tuple[str, Axis, Ladder | None, Any]:
        axis = self._axes[name]
        steps = None
        if axis.kind == "sizes":
            largest = max(self._largest, axis.min, axis.multiple) if axis.max is None else axis.max
            steps = ladder(axis.min, largest, axis.multiple, axis.blocks)
        followers = {name}
        for other in self.order:
            if any(source in followers for source in self._axes[other].of):
                followers.add(other)
        touched = [shape for shape in self._shapes if any(n in followers for dim in shape for n in dim.names)]
        occurrences = [sum(n == name for dim in shape for n in dim.names) for shape in touched]
        simple = followers == {name} and all(
            count == 1 and all(dim.plain or name not in dim.names for dim in shape)
            for count, shape in zip(occurrences, touched, strict=True)
        )
        return name, axis, steps, (simple, tuple(touched), tuple(sorted(followers, key=self.order.index)))

    def draw(self, data: Data) -> dict[str, int]:
        """The sizes of all axes, by name."""
        sizes: dict[str, int] = {}
        rest = dict(self._minimal)  # what is not drawn yet counts with its least size
        budgets, long = self._usual, ""
        if self._stretches:
            turn = integer(data, 0, self._turns - 1) - self._turns + len(self._stretches)
            if turn >= 0:
                long, stretched = self._stretches[turn]
                sizes[long] = stretched.draw(data)
                budgets = self._long
                self._settle(long, sizes[long], rest, self._steps[self.order.index(long)][3])
        for name, axis, steps, touching in self._steps:
            if name == long:
                continue
            if axis.function is not None:
                size = self._derive(name, axis, sizes)
            elif axis.kind == "fixed":
                size = axis.min
            elif steps is not None:
                size = steps.draw(data, self._room(name, touching, rest, steps.largest, budgets))
                if long and axis.min == 0:
                    size = max(size, 1)  # a long axis of an empty tensor shows nothing
            elif axis.kind == "multiple_of":
                assert axis.max is not None
                base = sizes[axis.of[0]]
                room = self._room(name, touching, rest, axis.max * max(base, 1), budgets) // max(base, 1)
                size = base * integer(data, axis.min, max(axis.min, min(axis.max, room)))
            else:
                size = self._at_most(data, name, axis, touching, rest, sizes[axis.of[0]], budgets)
            sizes[name] = size
            self._settle(name, size, rest, touching)
        return {name: sizes[name] for name in self.order} if long else sizes

    def _settle(self, name: str, size: int, rest: dict[str, int], touching: Any) -> None:
        """Let `rest` know the size of an axis, and what follows from it for others."""
        rest[name] = max(size, 1)
        for other in touching[2][1:]:
            rest[other] = max(1, self._least(other, rest))

    def _at_most(
        self,
        data: Data,
        name: str,
        axis: Axis,
        touching: Any,
        rest: dict[str, int],
        bound: int,
        budgets: tuple[int, int],
    ) -> int:
        if bound <= axis.min:
            return bound + integer(data, 0, 0)
        room = self._room(name, touching, rest, bound, budgets)
        steps = ladder(axis.min, LONGEST, 1, axis.blocks)
        count = steps.reach(min(room, bound))
        # a quarter on the bound itself, where two extents end together
        extra = count // 3 + 1 if room >= bound else 0
        index = integer(data, 0, count + extra - 1)
        return steps.steps[index] if index < count else bound

    def _room(self, name: str, touching: Any, rest: dict[str, int], most: int, budgets: tuple[int, int]) -> int:
        """The largest size of `name`, up to `most`, within the budgets of each tensor and of all free axes."""
        simple, shapes, followers = touching
        budget, total = budgets
        for other in self.order:
            if other != name and self._axes[other].function is None:
                total //= rest[other]
        room = min(most, max(total, 1))
        if simple:
            for shape in shapes:
                others = 1
                for dim in shape:
                    if dim.text != name:
                        others *= rest[dim.text] if dim.plain else max(dim.size(rest), 1)
                room = min(room, budget // others)
            return room
        low, high = 1, max(room, 1)
        trial = dict(rest)
        while low < high:
            middle = (low + high + 1) // 2
            trial[name] = middle
            for other in followers[1:]:
                trial[other] = max(1, self._least(other, trial))
            if all(self._elements(shape, trial) <= budget for shape in shapes):
                low = middle
            else:
                high = middle - 1
        return low

    @staticmethod
    def _elements(shape: tuple[Dimension, ...], sizes: Mapping[str, int]) -> int:
        product = 1
        for dim in shape:
            product *= max(dim.size(sizes), 1)
        return product
