"""Tensors: strategies of tensor descriptions, one for each kind of argument."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from hypothesis.strategies import SearchStrategy

from strategies import fills
from strategies.axes import Axis, Dimension, Frame, dimension
from strategies.choices import Data, TableStrategy, entry, integer, refuse
from strategies.descriptions import TensorDescription, repeat
from strategies.domains import REAL, Domain
from strategies.domains import integers as whole
from strategies.dtypes import BOOLS, FLOATS, INDICES, Dtypes, name_of
from strategies.layouts import CONTIGUOUS, LAYOUTS, WRITABLE, check_layouts, plans
from strategies.values import Values, check_names, draw_pins, draw_seed, styles

_MASK = Domain("mask")
_UNIQUE = (("ramp", "", 0), *[("random", "unique", 0)] * 3)
_UNIQUE_IGNORED = (*_UNIQUE, *[("random", "unique_ignored", 0)] * 3, ("random", "all_ignored", 0))


@dataclasses.dataclass(frozen=True, slots=True)
class TensorSpec:
    """What an argument may be: the answer to everything that `calls` asks a tensor strategy."""

    axes: tuple[Dimension, ...]
    dtypes: Dtypes
    layouts: tuple[str, ...]
    domain: Domain
    optional: bool
    dtype_group: str | None
    into: str | int | None
    ignore: int | None
    unique: bool
    special: bool
    values: tuple[str, ...] | None = None
    cuts: bool = False

    @property
    def needed(self) -> tuple[str, ...]:
        """The axes that have an entry in every call: one that is indexed, and the parts that another one is cut in."""
        if self.cuts:
            return tuple(name for axis in self.axes for name in axis.names)
        return (self.into,) if isinstance(self.into, str) else ()


class TensorStrategy(TableStrategy[TensorDescription]):
    """A Hypothesis strategy of tensor descriptions; `calls` reads its `spec` and draws several of them together."""

    def __init__(self, spec: TensorSpec, text: str, axes: Mapping[str, Axis], max_elements: int | None) -> None:
        super().__init__()
        self.spec = spec
        self._text = text
        self._own = (dict(axes), max_elements, frozenset(spec.needed))
        self._frame: Frame | None = None

    def __repr__(self) -> str:
        return self._text

    def with_axes(self, *axes: str | int) -> TensorStrategy:
        """The same strategy for tensors of other axes."""
        sizes, most, _ = self._own
        spec = dataclasses.replace(self.spec, axes=tuple(dimension(axis) for axis in axes))
        return _strategy(self._text.partition("(")[0], spec, axes, sizes, most)

    def do_draw(self, data: Data) -> TensorDescription | None:  # type: ignore[override]
        """A description on its own, with axes of its own."""
        if self._frame is None:
            axes, most, needed = self._own
            shapes: tuple[tuple[Dimension, ...], ...] = (self.spec.axes,)
            if isinstance(self.spec.into, str):
                shapes = (self.spec.axes, (dimension(self.spec.into),))
            self._frame = Frame(shapes, axes, most, needed)
        if self.spec.optional and integer(data, 0, 3) == 0:
            return None
        sizes = self._frame.draw(data)
        dtype = entry(data, self.spec.dtypes)
        spec = self.spec
        plan = entry(data, plans(len(spec.axes), spec.layouts))
        shape = tuple(dim.size(sizes) for dim in spec.axes)
        return describe(data, spec, shape, dtype, plan, sizes, "numeric", fills.SPECIALS, None)


def describe(
    data: Data,
    spec: TensorSpec,
    shape: tuple[int, ...],
    dtype: Any,
    plan: Any,
    sizes: Mapping[str, int],
    lane: str,
    specials: tuple[str, ...],
    seed: int | None,
) -> TensorDescription:
    """A description of an argument whose shape, dtype and plan are known; its values are drawn."""
    domain = spec.domain
    unique = False
    if spec.cuts and isinstance(spec.into, str):
        domain = whole(0, sizes[spec.into])
        name = entry(data, fills.CUTS)
        values = Values("random", name, 0 if name == "even_cuts" else draw_seed(data), (), domain, None)
        return TensorDescription(shape, dtype, plan.layout(shape), values)
    if spec.into is not None:
        count = sizes[spec.into] if isinstance(spec.into, str) else spec.into
        if count < 1 and 0 not in shape:
            raise refuse("into", spec.into, "the axis has no entry to index: give it kst.sizes(min=1)")
        domain = whole(0, max(count - 1, 0))
        unique = spec.unique
        if unique and math.prod(shape) > count:
            raise refuse(
                "unique", True, f"{math.prod(shape)} different indices into {count}: bound an axis by kst.at_most"
            )
    if lane == "special" and not spec.special:
        lane = "numeric"
    lie = plan.layout(shape)
    if unique:
        lie = plan.layout(shape) if "expanded" not in lie.kinds else plans(len(shape), CONTIGUOUS)[0].layout(shape)
        pattern, name, pin_count = entry(data, _UNIQUE if spec.ignore is None else _UNIQUE_IGNORED)
    else:
        table_domain = whole(0, 0) if spec.into is not None else domain
        pattern, name, pin_count = entry(data, styles(dtype, lane, table_domain, spec.ignore, specials, spec.values))
    if pattern in ("zeros", "ones", "ramp") or name == "causal":
        seed = 0
    elif seed is None:
        seed = draw_seed(data)
    numel = math.prod(shape)
    pins = draw_pins(data, pin_count, numel, dtype) if pin_count and numel else ()
    values = Values(pattern, name, seed, pins, domain, spec.ignore)
    return TensorDescription(shape, dtype, lie, repeat(values, shape, lie))


def tensors(
    *axes: str | int,
    dtypes: Dtypes = FLOATS,
    layouts: tuple[str, ...] = LAYOUTS,
    domain: Domain = REAL,
    values: tuple[str, ...] | None = None,
    optional: bool = False,
    special: bool = True,
    dtype_group: str | None = None,
    sizes: Mapping[str, Axis] | None = None,
    max_elements: int | None = None,
) -> SearchStrategy[TensorDescription]:
    """A strategy of tensors (as `TensorDescription`) with these axes.

    * `axes`: names, whole numbers, or sums and products of them ("2*half", "cols+1"). In a call, equal names are equal
      sizes.
    * `dtypes`: the element types, the simplest first. Arguments of a call with equal `dtypes` share one drawn type,
      unless `dtype_group` puts them into groups.
    * `layouts`: names of `kst.LAYOUTS`; `kst.CONTIGUOUS` opts out, `kst.WRITABLE` is for tensors that are written to.
    * `domain`: the numbers allowed: `kst.positive()`, `kst.bounded(...)`, ...
    * `values`: names of `kst.PATTERNS` and `kst.DISTRIBUTIONS`, the simplest first, to draw only such data in the
      numeric lane; None is the mix that found planted faults soonest.
    * `optional`: also draw None, which is the simplest.
    * `special`: whether NaN and infinities may come in the special lane of `kst.calls`.
    * `sizes` and `max_elements`: relations of axes and the element budget where the strategy is used without
      `kst.calls`.

    Raises InvalidArgument for anything else.
    """
    spec = TensorSpec(
        axes=tuple(dimension(axis) for axis in axes),
        dtypes=check_dtypes("dtypes", dtypes),
        layouts=check_layouts("layouts", layouts),
        domain=_check_domain(domain),
        optional=bool(optional),
        dtype_group=dtype_group,
        into=None,
        ignore=None,
        unique=False,
        special=bool(special),
        values=check_names(values),
    )
    return _strategy("tensors", spec, axes, sizes, max_elements)


def indices(
    *axes: str | int,
    into: str | int,
    ignore: int | None = None,
    unique: bool = False,
    dtypes: Dtypes = INDICES,
    layouts: tuple[str, ...] = LAYOUTS,
    optional: bool = False,
    sizes: Mapping[str, Axis] | None = None,
    max_elements: int | None = None,
) -> SearchStrategy[TensorDescription]:
    """A strategy of index tensors whose entries are valid for an axis `into` (a name or a length).

    Duplicates, one index everywhere and the ends 0 and n-1 are common. `ignore` is a mark that may stand for "no
    entry", such as -100 in the labels of a cross entropy; some or all entries may be so marked. `unique` forbids
    duplicates. The axis `into` has at least one entry in the call. Raises InvalidArgument for anything else.
    """
    if isinstance(into, bool) or not (
        into.isidentifier() if isinstance(into, str) else isinstance(into, int) and into > 0
    ):
        raise refuse("into", into, "give the name of the axis that the entries index, or its length (at least 1)")
    spec = TensorSpec(
        axes=tuple(dimension(axis) for axis in axes),
        dtypes=check_dtypes("dtypes", dtypes),
        layouts=check_layouts("layouts", layouts),
        domain=REAL,
        optional=bool(optional),
        dtype_group="indices",
        into=into,
        ignore=ignore,
        unique=bool(unique),
        special=False,
    )
    return _strategy("indices", spec, axes, sizes, max_elements)


def offsets(
    *axes: str | int,
    into: str,
    dtypes: Dtypes = INDICES,
    layouts: tuple[str, ...] = CONTIGUOUS,
) -> SearchStrategy[TensorDescription]:
    """A strategy of offsets (`cu_seqlens`, `indptr`) that cut the axis `into` in parts, the last axis of the tensor.

    They rise from 0 to the size of the axis; parts may be empty. For `sequences` parts write
    `kst.offsets("sequences+1", into="tokens")`. There is at least one part. Raises InvalidArgument for anything else.
    """
    if not isinstance(into, str) or not into.isidentifier():
        raise refuse("into", into, "give the name of the axis that the offsets cut in parts")
    spec = TensorSpec(
        axes=tuple(dimension(axis) for axis in axes),
        dtypes=check_dtypes("dtypes", dtypes),
        layouts=check_layouts("layouts", layouts),
        domain=REAL,
        optional=False,
        dtype_group="indices",
        into=into,
        ignore=None,
        unique=False,
        special=False,
        cuts=True,
    )
    if not spec.axes or spec.axes[-1].size(dict.fromkeys(spec.axes[-1].names, 1)) < 2:
        raise refuse("axes", axes, "offsets have one entry more than there are parts: write 'sequences+1'")
    return _strategy("offsets", spec, axes, None, None)


def masks(
    *axes: str | int,
    dtypes: Dtypes = BOOLS,
    layouts: tuple[str, ...] = LAYOUTS,
    optional: bool = False,
    sizes: Mapping[str, Axis] | None = None,
    max_elements: int | None = None,
) -> SearchStrategy[TensorDescription]:
    """A strategy of masks: all true, all false, causal, ragged prefixes, whole rows false, random.

    Integer `dtypes` give 0 and 1. Raises InvalidArgument for anything else.
    """
    spec = TensorSpec(
        axes=tuple(dimension(axis) for axis in axes),
        dtypes=check_dtypes("dtypes", dtypes),
        layouts=check_layouts("layouts", layouts),
        domain=_MASK,
        optional=bool(optional),
        dtype_group="masks",
        into=None,
        ignore=None,
        unique=False,
        special=False,
    )
    return _strategy("masks", spec, axes, sizes, max_elements)


def seeds() -> SearchStrategy[TensorDescription]:
    """A strategy of one-element int64 tensors that hold the seed of a random generator, any non-negative number."""
    import torch

    spec = TensorSpec(
        (dimension(1),), (torch.int64,), CONTIGUOUS, whole(0, 2**62), False, "seeds", None, None, False, False
    )
    return _strategy("seeds", spec, (), None, None)


def outputs(
    *axes: str | int,
    dtypes: Dtypes = FLOATS,
    layouts: tuple[str, ...] = WRITABLE,
    optional: bool = False,
    dtype_group: str | None = None,
) -> SearchStrategy[TensorDescription]:
    """A strategy of tensors that a kernel overwrites (`out=`): as `tensors`, but no two elements share memory."""
    if "expanded" in layouts:
        raise refuse("layouts", layouts, "an output cannot be expanded: several of its elements share memory")
    return tensors(*axes, dtypes=dtypes, layouts=layouts, optional=optional, dtype_group=dtype_group)


def check_dtypes(argument: str, dtypes: Dtypes) -> Dtypes:
    """`dtypes` as a tuple of torch dtypes. Raises InvalidArgument otherwise."""
    import torch

    if not isinstance(dtypes, (tuple, list)) or not dtypes or not all(isinstance(d, torch.dtype) for d in dtypes):
        raise refuse(argument, dtypes, "give a tuple of torch dtypes, for example kst.FLOATS or (torch.float32,)")
    for dtype in dtypes:
        if dtype.is_complex:
            raise refuse(argument, name_of(dtype), "complex types have no strategy")
    return tuple(dtypes)


def _check_domain(domain: Domain) -> Domain:
    if not isinstance(domain, Domain):
        raise refuse("domain", domain, "give a domain such as kst.positive() or kst.bounded(0, 1)")
    return domain


def check_max_elements(value: int | None) -> int | None:
    """`value`, the element budget or None. Raises InvalidArgument otherwise."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise refuse("max_elements", value, "give a whole number of at least 1")
    return value


def _strategy(
    name: str,
    spec: TensorSpec,
    axes: tuple[str | int, ...],
    sizes: Mapping[str, Axis] | None,
    max_elements: int | None,
) -> TensorStrategy:
    text = f"{name}({', '.join(repr(axis) for axis in axes)})"
    return TensorStrategy(spec, text, sizes or {}, check_max_elements(max_elements))
