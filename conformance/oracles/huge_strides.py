"""The lane `offsets`: calls whose strides reach past 2**31 elements, over memory that is never committed."""

from __future__ import annotations

import dataclasses

import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import strategies as kst
from conformance import runtime
from conformance.events import Kind
from conformance.failures import OffsetsFailure
from conformance.launch import Settings
from conformance.memory import lazy
from conformance.oracles import accuracy, crash, offsets
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call
from strategies.tensors import TensorStrategy

LAW = offsets.LAW

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


def skip(trial: Trial) -> str | None:
    """Why the lane does not apply to a trial, None if it does."""
    if runtime.current() != "interpret":
        return "huge strides lie over lazily committed memory, which only the CPU has"
    if trial.promises.offsets == "int32":
        return "the kernel promises 32-bit offsets only"
    if not strided_arguments(trial):
        return "no argument may have padded rows"
    return None


def draw(trial: Trial, dtype: torch.dtype | None) -> SearchStrategy[Call]:
    """Calls of the op in which the rows of one argument lie 2**31 elements apart, all together."""
    base = trial.op.calls(dtype=dtype, layouts=("contiguous",), limits=dict(trial.promises.limits))

    def spread(drawn: tuple[Call, str]) -> Call:
        call, name = drawn
        value = call.tensors.get(name)
        if value is None or value.numel == 0 or value.shape[0] < 2:
            return call
        return call.replace(name, value.with_layout(kst.huge(value.shape)))

    return st.tuples(base, st.sampled_from(strided_arguments(trial))).map(spread)


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object to overflow, to accesses outside the arguments, and to wrong values of a launch over huge strides."""
    if all(v.layout.is_contiguous for v in call.tensors.values()):
        return []
    launch = trial.launch(call, Settings(allocator=lazy))
    events = tuple(e for e in launch.events if e.kind in _SYMPTOMS)
    if events:
        first = next((e for e in events if e.kind in offsets.KINDS), events[0])
        return [Objection(OffsetsFailure, LAW, f"{_what(call)}: {first}", events=events)]
    return [
        dataclasses.replace(o, failure=OffsetsFailure, law=LAW, summary=f"{_what(call)}: {o.summary}")
        for o in (*crash.check(trial, launch), *accuracy.check(trial, launch))
    ]


def _what(call: Call) -> str:
    name, value = max(call.tensors.items(), key=lambda item: max(item[1].layout.strides, default=0))
    return f"{name} has strides {value.layout.strides}"
