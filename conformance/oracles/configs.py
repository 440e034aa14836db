"""The oracle `configs`."""

from __future__ import annotations

import dataclasses

from conformance.failures import ConfigsFailure
from conformance.launch import Launch, Settings
from conformance.oracles import accuracy, bounds, crash, inputs_kept, metadata, races, written
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call

LAW = "Every config of an autotuned kernel keeps the laws, and the first (tuning) call gives what later calls give."

_ORACLES = (crash, bounds, written, inputs_kept, metadata, races, accuracy)

# More configs than this are sampled by the call, so that one example stays within a few launches.
_MOST = 4


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a kernel, None if it does."""
    return None


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object to the tuning call, or to the first config whose launch breaks a law."""
    tuned = trial.launch(call, Settings(tune=True))
    if tuned.configs < 2:
        return []
    found = _judge(trial, tuned, "the first call, which tunes,")
    if found:
        return found
    start = hash(call) % tuned.configs
    for k in range(min(_MOST, tuned.configs)):
        config = (start + k) % tuned.configs
        launch = trial.launch(call, Settings(config=config))
        meta = ", ".join(f"{n}={v}" for g in launch.geometry[:1] for n, v in g.meta)
        found = _judge(trial, launch, f"config {config} ({meta})")
        if found:
            return found
    return []


def _judge(trial: Trial, launch: Launch, what: str) -> list[Objection]:
    for oracle in _ORACLES:
        for objection in oracle.check(trial, launch):
            summary = f"{what} breaks {objection.failure.oracle}: {objection.summary}"
            return [dataclasses.replace(objection, failure=ConfigsFailure, law=LAW, summary=summary)]
    return []
