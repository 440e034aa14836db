"""The lane `offsets`: calls whose strides reach past 2**31 elements, over memory that is never committed."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis.strategies import SearchStrategy

import strategies as kst
from conformance import runtime
from conformance.events import Kind
from conformance.failures import OffsetsFailure
from conformance.launch import Launch, Settings
from conformance.memory import lazy
from conformance.oracles import accuracy, crash, offsets
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call, TensorDescription

LAW = offsets.LAW

# What a wrapped offset does: it leaves the tensor, and the value is wrong where it happens to hit something.
_SYMPTOMS = offsets.KINDS | {Kind.OUT_OF_BOUNDS_READ, Kind.OUT_OF_BOUNDS_WRITE, Kind.GAP_READ, Kind.GAP_WRITE}


def skip(trial: Trial) -> str | None:
    """Why the lane does not apply to a trial, None if it does."""
    if runtime.current() != "interpret":
        return "huge strides lie over lazily committed memory, which only the CPU has"
    if not kst.huge_layouts(trial.op.inputs, trial.promises.layouts):
        return "no argument may have strides"
    return None


def draw(trial: Trial, dtype: torch.dtype | None) -> SearchStrategy[Call]:
    """Calls of the op with one argument whose row stride makes the last row start past 2**31 elements."""
    return trial.op.calls(dtype=dtype, lane="numeric", layouts=trial.promises.layouts, huge=True)


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object to overflow, and to accesses outside the arguments, of a launch over huge strides."""
    launch = trial.launch(call, Settings(allocator=lazy))
    events = tuple(e for e in launch.events if e.kind in _SYMPTOMS)
    if events:
        first = next((e for e in events if e.kind in offsets.KINDS), events[0])
        return [Objection(OffsetsFailure, LAW, f"{_what(call)}: {first}", events=events)]
    return [
        Objection(OffsetsFailure, LAW, f"{_what(call)}: {o.summary}", value=o.value, notes=o.notes)
        for o in _values(trial, launch)
    ]


def _values(trial: Trial, launch: Launch) -> list[Objection]:
    return [*crash.check(trial, launch), *accuracy.check(trial, launch)]


def _what(call: Call) -> str:
    described: list[tuple[str, Any]] = [(n, v) for n, v in call.arguments.items() if isinstance(v, TensorDescription)]
    name, value = max(described, key=lambda item: max(item[1].layout.strides, default=0))
    return f"{name} has strides {value.layout.strides}"
