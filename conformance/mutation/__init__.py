"""Mutants of kernels: what the suite must object to."""

from conformance.mutation.gate import Score, Subject, Verdict, digest, mutate
from conformance.mutation.mutant import Mutant

__all__ = ["Mutant", "Score", "Subject", "Verdict", "digest", "mutate"]
