"""Mutants of kernels: what the suite must object to."""

from conformance.mutation.gate import mutate
from conformance.mutation.mutant import Mutant, digest
from conformance.mutation.subject import Subject
from conformance.mutation.verdict import Score, Verdict

__all__ = ["Mutant", "Score", "Subject", "Verdict", "digest", "mutate"]
