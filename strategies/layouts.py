"""Layouts: how a tensor lies in memory (strides, storage offset, gaps), and plans that make one for any shape."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

from strategies.choices import refuse, weighted

Shape = tuple[int, ...]

#: Every kind of layout that is drawn by default, the simplest first.
LAYOUTS = ("contiguous", "offset", "padded", "sliced", "transposed", "permuted", "expanded", "odd_ones")
#: Only dense tensors in row order that start their storage.
CONTIGUOUS = ("contiguous",)
#: The kinds in which no two elements share memory, so that a kernel may write to the tensor.
WRITABLE = tuple(kind for kind in LAYOUTS if kind != "expanded")
#: Offsets of at least 2**31 elements; never drawn by default, since the storage is at least 2 GiB of address space.
HUGE = "huge"
_ORDER = (*LAYOUTS, HUGE)


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """Strides and storage offset of a tensor in elements, and the storage that it needs (`extent`, in elements).

    `kinds` says what is special about it, in the order of `LAYOUTS`, and is read off the geometry: a transposed tensor
    with one row is not called transposed, since no kernel can tell. A size-1 axis whose stride is not the dense one
    gives "odd_ones".
    """

    kinds: tuple[str, ...]
    strides: tuple[int, ...]
    offset: int
    extent: int

    @property
    def kind(self) -> str:
        """The kinds in one word, for ids and messages: "padded+offset"."""
        return "+".join(self.kinds)

    @property
    def is_contiguous(self) -> bool:
        """True where no kernel can tell the tensor from a dense one at the start of its storage."""
        return self.kinds == CONTIGUOUS

    def __repr__(self) -> str:
        if self.is_contiguous:
            return "contiguous"
        return f"{self.kind}(strides={self.strides}, offset={self.offset})"

    def to_json(self) -> dict[str, Any]:
        """Strides and offset; the rest follows from the shape."""
        return {"strides": list(self.strides), "offset": self.offset}


@functools.lru_cache(maxsize=4096)
def dense_strides(shape: Shape) -> tuple[int, ...]:
    """The strides, in elements, that PyTorch gives a contiguous tensor of `shape`.

    >>> dense_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@functools.lru_cache(maxsize=4096)
def layout(shape: Shape, strides: tuple[int, ...], offset: int = 0) -> Layout:
    """The layout with these strides and this storage offset, in elements, and the names of what is special about it.

    Raises InvalidArgument where strides and shape differ in length or something is negative.

    >>> layout((3, 4), (1, 3), 2).kind
    'offset+transposed'
    """
    if len(shape) != len(strides):
        raise refuse("strides", strides, f"give one stride for each axis of the shape {shape}")
    if offset < 0 or min(strides, default=0) < 0:
        raise refuse("strides", (strides, offset), "PyTorch has no negative strides or offsets")
    return _named(shape, tuple(strides), offset, dense_strides(shape))


def _named(shape: Shape, strides: tuple[int, ...], offset: int, dense: tuple[int, ...]) -> Layout:
    elements = math.prod(shape)
    if not elements or (strides == dense and elements <= 2**31):  # the usual case
        return Layout(("offset",) if offset else CONTIGUOUS, strides, offset, offset + elements)
    found = {"offset"} if offset else set()
    walk = []
    last = 0  # the element furthest from the first one
    for axis, (size, stride, packed) in enumerate(zip(shape, strides, dense, strict=True)):
        last += (size - 1) * stride
        if size == 1:
            if stride != packed:
                found.add("odd_ones")
        elif stride == 0:
            found.add("expanded")
        else:
            walk.append((stride, -axis, size))
    if last >= 2**31:
        found.add(HUGE)
    found.update(_walked(sorted(walk), len(shape)))
    kinds = tuple([kind for kind in _ORDER if kind in found])
    return Layout(kinds or CONTIGUOUS, strides, offset, offset + last + 1)


def _walked(inner_first: list[tuple[int, int, int]], rank: int) -> list[str]:
    """The kinds that show in how the axes follow each other in memory: (stride, -axis, size) of each that moves."""
    kinds = []
    order = [axis for _, axis, _ in inner_first]
    usual = sorted(order)
    turned = order != usual
    if turned:
        kinds.append("transposed" if order[2:] == usual[2:] else "permuted")
    step = 1
    for stride, axis, size in inner_first:
        if stride != step:
            # of the innermost axis; a column (n, 1) with gaps is row-padded: its last stride is still 1
            sliced = step == 1 and (turned or axis == 1 - rank)
            kinds.append("sliced" if sliced else "padded")
        step = stride * size
    return kinds


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """A layout for a shape that is not known yet.

    The tensor is cut from a larger dense one: `order` lists the axes from the outermost in memory ("" as they are,
    "swap" the last two exchanged, "reverse" all, "rotate" the first one innermost); `step` elements lie between
    neighbours of the innermost axis; `pad` elements follow each row, and with `every` each block of rows and so on
    outwards, so that no two axes are one to a kernel; `align` rounds the row up to a multiple of it;
    `expand` repeats the first axis that is longer than 1, counted from the front (0) or the back (1), with stride 0;
    `ones` is the stride of size-1 axes, 0 for the dense one. `within` are the kinds that the result may have: where
    a shape would get another one (a reversed tensor with size-1 axes is just transposed), it gets the dense layout.
    """

    uses: tuple[str, ...] = ()
    order: str = ""
    step: int = 1
    pad: int = 0
    align: int = 1
    offset: int = 0
    expand: int | None = None
    ones: int = 0
    within: tuple[str, ...] = LAYOUTS
    every: bool = False

    @property
    def is_dense(self) -> bool:
        """Whether nothing but the offset differs from a dense tensor."""
        return (
            self.step == self.align == 1 and not self.order and not self.pad and not self.ones and self.expand is None
        )

    def layout(self, shape: Shape) -> Layout:
        """The layout of a tensor of `shape`; the dense one where the plan makes no difference to it."""
        return _realized(self, shape)


@functools.lru_cache(maxsize=8192)
def _realized(plan: Plan, shape: Shape) -> Layout:
    dense = dense_strides(shape)
    if 0 in shape or plan.is_dense:
        return _named(shape, dense, plan.offset, dense)
    rank = len(shape)
    axes = list(range(rank))  # the outermost in memory first
    if plan.order == "swap" and rank > 1:
        axes[-2:] = reversed(axes[-2:])
    elif plan.order == "reverse":
        axes.reverse()
    elif plan.order == "rotate":
        axes = axes[1:] + axes[:1]
    repeated = None
    if plan.expand is not None:
        long = [axis for axis in range(rank) if shape[axis] > 1]
        if long:
            repeated = long[0] if plan.expand == 0 else long[-1]
    strides = [0] * rank
    step = plan.step
    for position, axis in enumerate(reversed(axes)):
        strides[axis] = step
        if axis == repeated:
            strides[axis] = 0
            continue
        step *= shape[axis]
        if rank > 1 and (position == 0 or plan.every):
            step = -(-(step + plan.pad) // plan.align) * plan.align
    for axis, size in enumerate(shape):
        if size == 1:
            # dense unless asked for: odd strides of size-1 axes are a kind of their own
            strides[axis] = plan.ones or dense[axis]
    made = _named(shape, tuple(strides), plan.offset, dense)
    return made if set(plan.within).issuperset(made.kinds) else _named(shape, dense, 0, dense)


# (plan, weight). Offsets: 1 and 3 elements break the 16-byte alignment that Triton and vectorized loads rely on for
# every type below 16 bytes, 16 elements keep it for every type. Row strides: one more than the row, a multiple of 16
# (an integer that Triton specializes on), and not. A plan of several kinds stands behind those of its last kind alone,
# to which it shrinks by small steps.
_PLANS: tuple[tuple[Plan, int], ...] = (
    (Plan(), 10),
    (Plan(uses=("offset",), offset=1), 3),
    (Plan(uses=("offset",), offset=16), 1),
    (Plan(uses=("offset",), offset=3), 1),
    (Plan(uses=("padded",), pad=1), 3),
    (Plan(uses=("padded",), pad=1, align=16), 2),
    (Plan(uses=("padded",), pad=7, every=True), 1),
    (Plan(uses=("offset", "padded"), offset=3, pad=5, every=True), 1),
    (Plan(uses=("offset", "padded"), offset=16, pad=1, align=16), 1),
    (Plan(uses=("sliced",), step=2), 3),
    (Plan(uses=("sliced",), step=3), 1),
    (Plan(uses=("offset", "sliced"), offset=1, step=2), 1),
    (Plan(uses=("padded", "sliced"), step=2, pad=3, every=True), 1),
    (Plan(uses=("transposed",), order="swap"), 6),
    (Plan(uses=("padded", "transposed"), order="swap", pad=2, every=True), 1),
    (Plan(uses=("offset", "transposed"), order="swap", offset=1), 1),
    (Plan(uses=("sliced", "transposed"), order="swap", step=2), 1),
    (Plan(uses=("permuted",), order="reverse"), 2),
    (Plan(uses=("permuted",), order="rotate"), 2),
    (Plan(uses=("offset", "padded", "sliced", "permuted"), order="reverse", step=2, pad=1, offset=5, every=True), 1),
    (Plan(uses=("expanded",), expand=0), 2),
    (Plan(uses=("expanded",), expand=1), 2),
    (Plan(uses=("offset", "padded", "expanded"), expand=0, pad=3, offset=1, every=True), 1),
    (Plan(uses=("odd_ones",), ones=7), 2),
    (Plan(uses=("odd_ones",), ones=1), 1),
)
# the least number of axes on which a kind can differ from dense
_RANK = {"padded": 2, "transposed": 2, "permuted": 3, "expanded": 1}


def check_layouts(argument: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """`names`, each of them a kind of layout. Raises InvalidArgument otherwise."""
    if isinstance(names, str) or not isinstance(names, (tuple, list)) or not names:
        raise refuse(argument, names, "give a tuple of layout names, for example kst.CONTIGUOUS or kst.LAYOUTS")
    for name in names:
        if name not in LAYOUTS:
            raise refuse(argument, names, f"{name!r} is no layout; there are {', '.join(LAYOUTS)}")
    return tuple(names)


@functools.lru_cache(maxsize=256)
def plans(rank: int, names: tuple[str, ...] = LAYOUTS) -> tuple[Plan, ...]:
    """The table of plans for tensors with `rank` axes that use no other kinds than `names`, the simplest first."""
    chosen = [
        (dataclasses.replace(plan, within=names), weight)
        for plan, weight in _PLANS
        if all(use in names and rank >= _RANK.get(use, 1) for use in plan.uses) and (plan.uses or "contiguous" in names)
    ]
    # no kind may differ from dense with so few axes
    return weighted(chosen or [(Plan(), 1)])


# how much further than it must a huge layout reaches: 64 GiB of address space for 8 bytes an element
_FURTHER = 4


def huge(shape: Shape, *, reach: int = 2**31, last: bool = False) -> Layout:
    """A layout whose last element lies at least `reach` elements from the first, on the first axis longer than 1, or on
    the last such axis.

    An offset computed in 32 bits overflows there, and where the stride itself still has 32 bits also at entries before
    the last and in a step of a block. From three axes on no two are one to a kernel. The storage is only address space:
    PyTorch's CPU allocator and a GPU reservation commit the touched pages alone. Raises InvalidArgument for a shape
    with fewer than two elements.

    >>> huge((3, 8)).strides
    (1073741832, 1)
    """
    if 0 in shape or all(size == 1 for size in shape):
        raise refuse("shape", shape, "a huge stride needs an axis longer than 1")
    axis = [axis for axis, size in enumerate(shape) if size > 1][-1 if last else 0]
    # with one more entry along each axis, no stride walks through two axes; a matrix keeps its dense rows
    strides = list(dense_strides(tuple(size + 1 for size in shape) if len(shape) > 2 else shape))
    # a whole number of rows, so that the strides divide as those of a slice of a real tensor do
    unit = max(strides[axis], 8) if axis == 0 or not last else shape[0] * strides[0]
    steps = shape[axis] - 1
    stride = max(-(-reach // steps), min(2**30, _FURTHER * reach // steps))
    strides[axis] = (stride // unit + 1) * unit
    return layout(shape, tuple(strides), 0)
