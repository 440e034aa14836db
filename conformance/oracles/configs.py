"""The oracle `configs`."""

from __future__ import annotations

import dataclasses
import zlib

from conformance import runtime
from conformance.failures import ConfigsFailure
from conformance.launch import Launch, Settings
from conformance.observation import tried
from conformance.oracles import accuracy, bounds, crash, inputs_kept, metadata, races, written
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call

ID = "configs"
LAW = (
    "Every config of an autotuned kernel keeps the laws, and the first (tuning) call gives what later calls give; on a "
    "GPU, a kernel that is not tuned keeps them with any number of warps and stages."
)

_ORACLES = (crash, bounds, written, inputs_kept, metadata, races, accuracy)

# What a compiled kernel is launched with besides its own numbers of warps and stages: one warp, in which races between
# warps cannot be, many, and pipelines that load ahead or do not. Each costs a compile, so a call has one of them.
_SWEPT = (
    (("num_warps", 1), ("num_stages", 1)),
    (("num_warps", 2), ("num_stages", 4)),
    (("num_warps", 8), ("num_stages", 2)),
    (("num_warps", 16), ("num_stages", 3)),
)
# Triton's errors for options that a kernel cannot have on a device; a tuner passes over a config that raises them
# (Triton, `runtime/autotuner.py`).
_IMPOSSIBLE = frozenset({"OutOfResources", "PTXASError", "CompileTimeAssertionFailure"})


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a kernel, None if it does."""
    return None


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object to the tuning call, or to the first config whose launch breaks a law."""
    seed = _seed(call)
    tuned = trial.launch(call, Settings(tune=True, seed=seed))
    if tuned.configs < 2:
        return _swept(trial, call, tuned)
    found = _judge(trial, tuned, "the first call, which tunes,")
    if found:
        return found
    for config in tried(tuned.configs, seed):
        launch = trial.launch(call, Settings(config=config))
        meta = ", ".join(f"{n}={v}" for g in launch.geometry[:1] for n, v in g.meta)
        found = _judge(trial, launch, f"config {config} ({meta})")
        if found:
            return found
    return []


def dry(trial: Trial, call: Call) -> None:
    """Make dry launches of all that `check` launches on a GPU.

    The configs of a tuned kernel are not launched with other numbers of warps: the accumulators of a large tile do not
    fit into the registers of few warps, and its compiler takes minutes to spill them.
    """
    tuned = trial.launch(call, Settings(dry=True, tune=True, seed=_seed(call)))
    if tuned.configs < 2:
        trial.launch(call, Settings(dry=True, compiler=_options(call)))


def _seed(call: Call) -> int:
    """A number that says which configs a call tries: the same in every process."""
    return zlib.crc32(repr(call).encode())


def _options(call: Call) -> tuple[tuple[str, int], ...]:
    return _SWEPT[_seed(call) % len(_SWEPT)]


def _swept(trial: Trial, call: Call, plain: Launch) -> list[Objection]:
    """Object to a launch with another number of warps and stages, where one with the kernel's own keeps the laws."""
    compiled = runtime.current() == "gpu" and plain.geometry and not any(g.block for g in plain.geometry)
    if not compiled or _judge(trial, plain, ""):
        return []
    options = _options(call)
    launch = trial.launch(call, Settings(compiler=options))
    if type(launch.error).__name__ in _IMPOSSIBLE:
        return []
    return _judge(trial, launch, f"a launch with {', '.join(f'{n}={v}' for n, v in options)}")


def _judge(trial: Trial, launch: Launch, what: str) -> list[Objection]:
    for oracle in _ORACLES:
        for objection in oracle.check(trial, launch):
            summary = f"{what} breaks {objection.failure.oracle}: {objection.summary}"
            return [dataclasses.replace(objection, failure=ConfigsFailure, law=LAW, summary=summary)]
    return []
