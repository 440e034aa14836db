"""Installs the interpreter into Triton."""

from __future__ import annotations

import warnings

import triton

from conformance.interpreter import autotuning, libdevice, repairs, truth
from conformance.interpreter.launcher import Interpreter
from conformance.interpreter.patches import patch
from conformance.runtime import ConformanceWarning

# the versions whose private names the patches know
SUPPORTED = ((3, 7), (3, 8), (3, 9))

_installed: list[Interpreter] = []


def install(*, stock: bool = False, repair: bool = True) -> None:
    """Nothing; kernels launched from here on run in our interpreter.

    TRITON_INTERPRET=1 must be set before kernels are defined. With `stock` Triton's own interpreter runs, without
    batching, tracing and repairs. Without `repair` ours runs, and computes bit by bit what Triton's own computes.
    A second call changes nothing. A Triton that we do not know keeps its own launch loop, and a warning says so.
    """
    if _installed or stock:
        return
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    if version not in SUPPORTED:
        known = ", ".join(".".join(map(str, v)) for v in SUPPORTED)
        warnings.warn(
            f"the interpreter knows Triton {known}, not {triton.__version__}: Triton's own interpreter runs instead, "
            "without tracing and without repairs, so that no oracle sees addresses. Install a Triton that it knows",
            ConformanceWarning,
            stacklevel=2,
        )
        return
    machine = Interpreter(repairs.needed() if repair else frozenset())
    patch(machine)
    autotuning.patch()
    if machine.repairs & {"truth", "loops"}:
        truth.teach(machine.builder, chains=version < (3, 9))
    if "libdevice" in machine.repairs:
        libdevice.patch(type(machine.builder))
    _installed.append(machine)


def machine() -> Interpreter | None:
    """The machine that runs kernels, None where Triton's own interpreter does."""
    return _installed[0] if _installed else None


def active() -> list[str]:
    """The names of the repairs in force, empty before `install`."""
    return sorted(_installed[0].repairs) if _installed else []
