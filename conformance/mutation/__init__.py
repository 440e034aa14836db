"""Mutants of kernels: what the suite must object to."""

from conformance.mutation.cuda import Mutant, mutants

__all__ = ["Mutant", "mutants"]
