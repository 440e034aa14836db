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

# What launchers raise on arguments that they do not take, mostly dtypes.
_REFUSALS = (TypeError, ValueError, NotImplementedError)
_ON_PURPOSE = (
    "a kernel that refuses it on purpose promises what it takes: promises=Promises(dtypes=...), or --promise "
    "dtypes=float32,float16; it must then refuse the others",
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
    notes = ("the call is valid for the op: see the arguments", *(_ON_PURPOSE if isinstance(error, _REFUSALS) else ()))
    return [Objection(CrashFailure, LAW, summary, events, notes=notes)]


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
