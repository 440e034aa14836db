"""The oracle `determinism`."""

from __future__ import annotations

import torch
from hypothesis.strategies import SearchStrategy

from conformance.failures import DeterminismFailure
from conformance.launch import Settings
from conformance.oracles.bits import describe
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call

LAW = "The same call gives the same bits: again, at other addresses, over other stale memory, in any program order."

# Again with other poison; then the orders, which a kernel with float atomics is free of.
_AGAIN = (("a second run over other stale memory", Settings(poison="large")),)
_ORDERS = (
    ("programs in reverse order", Settings(order="reverse")),
    ("programs in a random order", Settings(order="random", seed=1)),
)


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a kernel, None if it does."""
    return None if trial.promises.deterministic else "the kernel promises no determinism"


def draw(trial: Trial, dtype: torch.dtype | None) -> SearchStrategy[Call]:
    """Calls of the op; of its axes only those are long that are the last of every tensor which has them.

    In another order programs run one by one, and along other axes there is often a program for each entry.
    """
    outer = {name for axes in trial.op.argument_axes().values() for name in axes[:-1]}
    long = tuple(name for name in trial.op.long_axes if name not in outer)
    promises = trial.promises
    return trial.op.calls(dtype=dtype, layouts=promises.layouts, limits=dict(promises.limits), long=long)


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object to the first repetition that gives other bits."""
    base = trial.launch(call, Settings())
    if base.error is not None:
        return []
    first = [o.clone() for o in base.outputs]
    runs = _AGAIN if base.float_atomics else _AGAIN + _ORDERS
    for name, settings in runs:
        other = trial.launch(call, settings)
        difference = (
            (f"{name} raised {other.error}",) if other.error else describe(first, other.outputs, "the first run", name)
        )
        if difference:
            return [Objection(DeterminismFailure, LAW, difference[0], notes=difference)]
    return []
