"""The oracle `crash`."""

from __future__ import annotations

import dataclasses
import os
import traceback

from conformance.events import Event, Kind, Site
from conformance.failures import CrashFailure
from conformance.launch import Launch
from conformance.op import OpError
from conformance.oracles.objection import Objection, from_events
from conformance.trial import Trial

LAW = "A call that the op and the kernel's promises allow runs to its end and returns tensors."
KINDS = frozenset({Kind.CRASH, Kind.HANG, Kind.DEVICE_ASSERT, Kind.REJECTED})

# What launchers raise on arguments that they do not take; assertions are those of Triton's tensor descriptors, too.
_REFUSALS = (TypeError, ValueError, NotImplementedError, AssertionError)
_DTYPES = (
    "a kernel that refuses it on purpose promises what it takes: promises=Promises(dtypes=...), or --promise "
    "dtypes=float32,float16; it must then refuse the others"
)
_LAYOUTS = (
    "where it refuses the layout ({kinds}) on purpose, it promises those that it takes: promises=Promises(layouts="
    "('contiguous',)), or --promise layouts=contiguous; it must then refuse the others"
)
_ALIGNED = (
    "rows of {shapes} are not aligned to 16 bytes: where the kernel asks for it, its op is sized so, as in "
    "op.sized({axes})"
)
NOTHING_ENDED = "no launch of this lane ended, so nothing else was judged"


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to what the kernel raised, to a failed device assert, to a hang, to what does not compile for a GPU."""
    found = from_events(CrashFailure, LAW, launch.events, KINDS)
    if found or launch.error is None:
        return found
    if isinstance(launch.error, Exception) and _refused_by_torch(trial, launch):
        return []
    error = launch.error.__cause__ or launch.error
    raised = f"{type(error).__name__}: {_message(error)}"
    site = _last_line(error)
    summary = raised if site is None else f"{raised} ({site})"
    events = () if site is None else (Event(Kind.CRASH, "the launch", raised, site=site),)
    refused = isinstance(error, _REFUSALS) and not launch.geometry
    notes = ("the call is valid for the op: see the arguments", *(_on_purpose(trial, launch) if refused else ()))
    return [Objection(CrashFailure, LAW, summary, events, notes=notes)]


def _on_purpose(trial: Trial, launch: Launch) -> tuple[str, ...]:
    """What a launcher that refuses the call on purpose promises, the likeliest first."""
    error = launch.error.__cause__ or launch.error if launch.error is not None else None
    tensors = launch.call.tensors
    kinds = [f"{name}: {t.layout.kind}" for name, t in tensors.items() if not t.layout.is_contiguous]
    notes = [] if isinstance(error, AssertionError) else [_DTYPES]
    if kinds or any(t.layout.offset for t in tensors.values()):
        kinds = kinds or [f"{name}: {t.layout.kind}" for name, t in tensors.items() if t.layout.offset]
        notes.append(_LAYOUTS.format(kinds=", ".join(kinds)))
    own = trial.op.argument_axes()
    odd = {
        name: (t.shape, own[name][-1], 16 // t.dtype.itemsize)
        for name, t in tensors.items()
        if len(t.shape) > 1 and t.shape[-1] * t.dtype.itemsize % 16
    }
    if odd and error is not None and "align" in _message(error):
        steps = {axis: step for _, axis, step in odd.values() if axis is not None}
        axes = ", ".join(f"{axis}=kst.multiple_of({step})" for axis, step in steps.items())
        shapes = ", ".join(f"{name} {list(shape)}" for name, (shape, _, _) in odd.items())
        if axes:
            notes.append(_ALIGNED.format(shapes=shapes, axes=axes))
    return tuple(notes)


def nothing_ended(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to a launch that raised where none of a lane ended, of which nothing else was judged."""
    return [dataclasses.replace(found, notes=(NOTHING_ENDED, *found.notes)) for found in check(trial, launch)]


def _refused_by_torch(trial: Trial, launch: Launch) -> bool:
    """Whether the reference raises too on a call with an axis of 0: the maximum of nothing, say, has no value."""
    if 0 not in launch.call.sizes.values():
        return False
    try:
        trial.reference(trial.op.reference_arguments(launch.call, launch.values))
    except OpError:
        return True
    return False


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - the kernel's exception class is the kernel's too
        return f"(its message raises {type(second).__name__})"


def _last_line(error: BaseException) -> Site | None:
    here = os.path.dirname(os.path.dirname(__file__))
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename]
    own = [f for f in frames if not f.filename.startswith(os.path.join(here, ""))]
    return Site(own[-1].filename, own[-1].lineno or 0, own[-1].line or "") if own else None
