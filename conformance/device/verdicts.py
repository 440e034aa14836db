"""Objections and calls as data between processes, and the words for what ends a process or a CUDA context."""

from __future__ import annotations

import signal
from typing import Any

from conformance.events import Event, Kind
from conformance.failures import BoundsFailure, ConformanceFailure, CrashFailure
from conformance.observation import Geometry
from conformance.oracles import bounds, crash
from conformance.oracles.objection import Objection
from conformance.oracles.refusals import Refused
from conformance.oracles.relations import Related
from conformance.report.encoding import decode_finding, encode
from strategies import Call

# Sticky errors of the CUDA runtime, by what their text says (CUDA runtime API, "cudaError_t"). After one of them every
# later call in the process fails with it.
_FAULTS: tuple[tuple[str, Kind], ...] = (
    ("illegal memory access", Kind.ILLEGAL_ADDRESS),
    ("misaligned address", Kind.MISALIGNED),
    ("invalid address space", Kind.WILD_POINTER),
    ("device-side assert", Kind.DEVICE_ASSERT),
    ("launch timed out", Kind.HANG),
    ("did not end", Kind.HANG),  # what `runtime.synchronize` says
)

_DETAILS = {
    Kind.ILLEGAL_ADDRESS: "the device read or wrote memory that belongs to no tensor; which access it was, "
    "`--compute-sanitizer` says",
    Kind.MISALIGNED: "the device read or wrote a vector at an address that is not a multiple of its size",
    Kind.WILD_POINTER: "the device used an address of the wrong memory space",
    Kind.DEVICE_ASSERT: "an assertion in the kernel failed",
    Kind.HANG: "the kernel did not end",
    Kind.CRASH: "the launch failed",
}


_NOTHING: dict[str, Any] = {"oracle": "", "law": "", "op": "", "kernel": "", "summary": "", "call": {}}


def encode_objection(objection: Objection) -> dict[str, Any]:
    """The objection as JSON values."""
    return {
        "oracle": objection.failure.oracle,
        "law": objection.law,
        "summary": objection.summary,
        "events": encode(objection.events),
        "value": encode(objection.value),
        "notes": list(objection.notes),
    }


def decode_objection(data: dict[str, Any]) -> Objection:
    """The objection that `encode_objection` wrote."""
    finding = decode_finding({**_NOTHING, **data})
    return Objection(
        failure_class(finding.oracle), finding.law, finding.summary, finding.events, finding.value, finding.notes
    )


def failure_class(oracle: str) -> type[ConformanceFailure]:
    """The exception class of an oracle."""
    return next(c for c in ConformanceFailure.__subclasses__() if c.oracle == oracle)


def decode_geometry(data: list[Any]) -> tuple[Geometry, ...]:
    """The launches that `conformance.report.encoding.encode` wrote."""
    return decode_finding({**_NOTHING, "geometry": data}).geometry


def encode_drawn(drawn: Any) -> dict[str, Any]:
    """What a lane draws, a call or a call of which something is asked, as JSON values."""
    if isinstance(drawn, Refused):
        return {"call": drawn.call.to_json(), "why": drawn.why}
    if isinstance(drawn, Related):
        return {"call": drawn.call.to_json(), "relation": drawn.relation}
    return {"call": drawn.to_json()}


def decode_drawn(data: dict[str, Any]) -> Any:
    """What `encode_drawn` wrote."""
    call = Call.from_json(data["call"])
    if "relation" in data:
        return Related(call, data["relation"])
    return Refused(call, data["why"]) if "why" in data else call


def fault(text: str, output: str = "") -> Objection:
    """The objection to a launch after which the device no longer answers: `text` is the error that it gives."""
    kind = next((kind for phrase, kind in _FAULTS if phrase in text), Kind.CRASH)
    first = text.strip().splitlines()[0] if text.strip() else "the device no longer answers"
    return _objection(kind, f"{_DETAILS[kind]} ({first})", _tail(output))


def hang(seconds: float, output: str = "") -> Objection:
    """The objection to a call that was ended after so many seconds."""
    return _objection(Kind.HANG, f"the call had not ended after {seconds:g} s, and was ended", _tail(output))


def death(status: int | None, output: str = "") -> Objection:
    """The objection to a call that ended its process: `status` is its exit code, minus the signal that killed it."""
    if status is None:
        how = "the process that ran the call ended"
    elif status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        how = f"the process that ran the call was killed by {name}"
        if name == "SIGKILL":
            how += "; nothing here sent it, so perhaps the system's memory ran out"
    else:
        how = f"the process that ran the call was left with exit code {status}"
    return _objection(Kind.CRASH, how, _tail(output))


def garbled(text: str, output: str = "") -> Objection:
    """The objection to a kernel that wrote to a file descriptor of the suite."""
    return _objection(Kind.CRASH, f"the kernel wrote to a file descriptor that is not its own: {text!r}", _tail(output))


def _objection(kind: Kind, detail: str, notes: tuple[str, ...]) -> Objection:
    failure, law = (BoundsFailure, bounds.LAW) if kind in bounds.KINDS else (CrashFailure, crash.LAW)
    event = Event(kind, "the launch", detail)
    return Objection(failure, law, f"{kind.value}: {detail}", events=(event,), notes=notes)


# Lines of what the process printed that a finding keeps: a device assert's message is one, a Python stack about ten.
_LINES = 20


def _tail(output: str) -> tuple[str, ...]:
    lines = [line for line in output.splitlines() if line.strip()]
    return tuple(lines[-_LINES:])
