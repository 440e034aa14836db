"""Installs the interpreter into Triton."""

from __future__ import annotations

import warnings

import triton

from conformance.interpreter import autotuning, libdevice, truth
from conformance.interpreter.launcher import Interpreter
from conformance.interpreter.patches import patch

# the versions whose private names the patches know
SUPPORTED = ((3, 7), (3, 8), (3, 9))

_installed: list[Interpreter] = []

REPAIRS = ("arithmetic", "casts", "dots", "sums", "scalars", "truth", "assertions", "rejections")


def install(*, stock: bool = False) -> None:
    """Nothing; kernels launched from here on run in our interpreter.

    `stock` keeps the stock interpreter's numbers: no repair is in force. A second call changes nothing. A Triton that
    is newer than the ones we know keeps its own launch loop, and a warning says so.
    """
    if _installed:
        return
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    if version not in SUPPORTED:
        warnings.warn(
            f"Triton {triton.__version__} is not one of {', '.join('.'.join(map(str, v)) for v in SUPPORTED)}: its own "
            "interpreter runs, without tracing and without repairs",
            stacklevel=2,
        )
        return
    machine = Interpreter(frozenset() if stock else frozenset(REPAIRS))
    patch(machine)
    autotuning.patch()
    if not stock:
        truth.teach(machine.builder, chains=version < (3, 9))
        libdevice.patch(type(machine.builder))
    _installed.append(machine)


def active() -> list[str]:
    """The names of the repairs in force."""
    return sorted(_installed[0].repairs) if _installed else []
