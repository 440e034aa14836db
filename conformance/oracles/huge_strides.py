"""The lane `offsets`: calls that reach past 2**31 elements or 65535 programs, over memory that is never committed."""

from __future__ import annotations

import dataclasses

import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import strategies as kst
from conformance import runtime
from conformance.events import Event, Kind
from conformance.failures import OffsetsFailure
from conformance.launch import Settings
from conformance.memory import lazy
from conformance.observation import LARGEST_GRID
from conformance.oracles import accuracy, crash, offsets
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call
from strategies.tensors import TensorStrategy

LAW = offsets.LAW

# One more than a grid's y and z may have (CUDA C++ Programming Guide, technical specifications).
LONG = 65536

# What a wrapped offset does: it leaves the tensor, and the value is wrong where it happens to hit something.
_SYMPTOMS = offsets.KINDS | {Kind.OUT_OF_BOUNDS_READ, Kind.OUT_OF_BOUNDS_WRITE, Kind.GAP_READ, Kind.GAP_WRITE}


def strided_arguments(trial: Trial) -> tuple[str, ...]:
    """The arguments whose first axis may have a stride of its own: of rank 2 or more, padded rows allowed."""
    promised = trial.promises.layouts
    return tuple(
        name
        for name, strategy in trial.op.inputs.items()
        if isinstance(strategy, TensorStrategy)
        and len(strategy.spec.axes) > 1
        and "padded" in strategy.spec.layouts
        and (promised is None or "padded" in promised)
    )


def long_axes(trial: Trial) -> tuple[str, ...]:
    """The axes of the op that may be longer than a grid's second dimension: named, free, and without a limit."""
    limits = dict(trial.promises.limits)
    named = {n for names in trial.op.argument_axes().values() for n in names if n is not None}
    return tuple(sorted(n for n in named if n not in trial.op.axes and limits.get(n, LONG) >= LONG))


def skip(trial: Trial) -> str | None:
    """Why the lane does not apply to a trial, None if it does."""
    if not _spreadable(trial) and not long_axes(trial):
        return "no argument may have rows that lie 2**31 elements apart, and no axis is free to be long"
    return None


def _spreadable(trial: Trial) -> tuple[str, ...]:
    # huge strides lie over lazily committed memory, which the CPU alone has
    possible = trial.promises.offsets != "int32" and runtime.current() == "interpret"
    return strided_arguments(trial) if possible else ()


def draw(trial: Trial, dtype: torch.dtype | None) -> SearchStrategy[Call]:
    """Calls of the op in which one argument's rows span 2**31 elements, or one axis is longer than a grid's y and z."""
    sources = []
    if _spreadable(trial):
        for name in strided_arguments(trial):
            sources.append(_spread(trial, dtype, name, last=False))
            if _may_stride_inside(trial, name):
                sources.append(_spread(trial, dtype, name, last=True))
    for name in long_axes(trial):
        sources.append(_lengthened(trial, dtype, name))
    return st.one_of(sources)


def _lengthened(trial: Trial, dtype: torch.dtype | None, name: str) -> SearchStrategy[Call]:
    others = {n: kst.sizes(min=1, max=2) for n in long_axes(trial) if n != name}
    return trial.op.calls(
        dtype=dtype,
        layouts=("contiguous",),
        replaced={**others, name: kst.fixed(LONG)},
        max_elements=8 * LONG,
    )


def _spread(trial: Trial, dtype: torch.dtype | None, name: str, *, last: bool) -> SearchStrategy[Call]:
    spread_axis = trial.op.argument_axes()[name][-1 if last else 0]
    # empty tensors, and one entry along the axis, have no offset that could overflow
    full = {n: kst.sizes(min=2 if n == spread_axis else 1) for n in long_axes(trial)}
    limits = dict(trial.promises.limits)
    base = trial.op.calls(dtype=dtype, layouts=("contiguous",), replaced=full, limits=limits, long=())

    def spread(call: Call) -> Call:
        value = call.tensors.get(name)
        if value is None or value.numel == 0 or value.shape[-1 if last else 0] < 2:
            return call
        return call.replace(name, value.with_layout(kst.huge(value.shape, last=last)))

    return base.map(spread)


def _may_stride_inside(trial: Trial, name: str) -> bool:
    """Whether the last axis of the argument may have any stride, as that of a transposed matrix has."""
    promised, strategy = trial.promises.layouts, trial.op.inputs[name]
    assert isinstance(strategy, TensorStrategy)
    return "transposed" in strategy.spec.layouts and (promised is None or "transposed" in promised)


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object to overflow, to accesses outside the arguments, and to wrong values of a launch over huge strides."""
    if LONG in call.sizes.values():
        return _grid(trial, call)
    if all(v.layout.is_contiguous for v in call.tensors.values()):
        return []
    launch = trial.launch(call, Settings(allocator=lazy))
    events = tuple(e for e in launch.events if e.kind in _SYMPTOMS)
    values = [] if events else [*crash.check(trial, launch), *accuracy.check(trial, launch)]
    if (events or values) and _shows_anyway(trial, call):
        return []
    if events:
        first = next((e for e in events if e.kind in offsets.KINDS), events[0])
        return [Objection(OffsetsFailure, LAW, f"{_what(call)}: {first}", events=events)]
    return [
        dataclasses.replace(o, failure=OffsetsFailure, law=LAW, summary=f"{_what(call)}: {o.summary}") for o in values
    ]


def _shows_anyway(trial: Trial, call: Call) -> bool:
    """Whether the contiguous call shows a fault as well, which then has nothing to do with huge strides."""
    twin = trial.launch(call.contiguous())
    symptoms = any(e.kind in _SYMPTOMS for e in twin.events)
    return symptoms or bool(crash.check(trial, twin) or accuracy.check(trial, twin))


def _grid(trial: Trial, call: Call) -> list[Objection]:
    """Object to a grid that CUDA does not launch; the geometry says it, and nothing runs."""
    for geometry in trial.geometry(call):
        for axis, size, limit in zip("xyz", geometry.grid, LARGEST_GRID, strict=True):
            if size > limit:
                long = ", ".join(f"{n}={s}" for n, s in call.sizes.items() if s == LONG)
                summary = f"{long}: {geometry.kernel} has grid {geometry.grid}; CUDA launches at most {limit} in {axis}"
                event = Event(Kind.GRID_LIMIT, geometry.kernel, summary, kernel=geometry.kernel)
                return [Objection(OffsetsFailure, LAW, summary, events=(event,))]
    return []


def _what(call: Call) -> str:
    name, value = max(call.tensors.items(), key=lambda item: max(item[1].layout.strides, default=0))
    return f"{name} has strides {value.layout.strides}"
