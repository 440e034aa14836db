"""The oracle `determinism`."""

from __future__ import annotations

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
