"""The oracle `refusals`."""

from __future__ import annotations

from conformance.failures import RefusalsFailure
from conformance.launch import Launch, Settings
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call

LAW = "What the kernel does not support is refused with a clear error before any launch, never computed."

# What a refusal is raised as. An AssertionError counts: many launchers say it so; a KeyError or a TypeError from deep
# inside a library does not tell the caller anything, but cannot be told apart from one raised on purpose.
_REFUSALS = (ValueError, TypeError, NotImplementedError, RuntimeError, AssertionError)


def check(trial: Trial, call: Call, why: str) -> list[Objection]:
    """Object if the kernel computes a call that it must refuse, or refuses it without a word or after a launch."""
    launch = trial.launch(call, Settings(trace=True))
    wrong = _wrong(launch)
    return [Objection(RefusalsFailure, LAW, f"{why}: {wrong}")] if wrong else []


def _wrong(launch: Launch) -> str | None:
    error = launch.error
    if error is None:
        return "the kernel computed a result"
    if launch.geometry:
        return f"{type(error).__name__} was raised only after a launch"
    if not isinstance(error, _REFUSALS):
        return f"{type(error).__name__} is no refusal; raise ValueError or TypeError that names the argument"
    if not str(error).strip():
        return f"{type(error).__name__} has no message; name the argument and what is supported"
    return None
