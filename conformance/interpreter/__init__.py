"""The Triton interpreter we own: the whole grid at once, every address seen, numbers as a GPU has them."""

from conformance.interpreter.autotuning import forget_tuning
from conformance.interpreter.errors import RejectedError
from conformance.interpreter.flight import fly
from conformance.interpreter.install import active, install, machine
from conformance.interpreter.launcher import programs
from conformance.interpreter.shadow import unwritten
from conformance.watchdog import HangError

__all__ = [
    "HangError",
    "RejectedError",
    "active",
    "fly",
    "forget_tuning",
    "install",
    "machine",
    "programs",
    "unwritten",
]
