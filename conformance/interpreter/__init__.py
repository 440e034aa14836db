"""The Triton interpreter we own: the whole grid at once, every address seen, numbers as a GPU has them."""

from conformance.interpreter.autotuning import forget_tuning
from conformance.interpreter.errors import Hang, Rejected
from conformance.interpreter.install import active, install
from conformance.interpreter.launcher import programs
from conformance.interpreter.shadow import unwritten

__all__ = ["Hang", "Rejected", "active", "forget_tuning", "install", "programs", "unwritten"]
