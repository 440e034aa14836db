"""The Triton interpreter we own: the whole grid at once, every address seen, numbers as a GPU has them."""

from conformance.interpreter.autotuning import forget_tuning
from conformance.interpreter.errors import RejectedError
from conformance.interpreter.install import active, install
from conformance.interpreter.launcher import programs
from conformance.interpreter.shadow import unwritten
from conformance.watchdog import HangError

__all__ = ["HangError", "RejectedError", "active", "forget_tuning", "install", "programs", "unwritten"]
