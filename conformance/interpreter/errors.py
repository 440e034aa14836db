"""What the interpreter raises beyond Triton's own errors."""

from __future__ import annotations


class HangError(RuntimeError):
    """A launch did not end within its time or number of operations."""


class RejectedError(TypeError):
    """The kernel asks for something that the compiler refuses."""
