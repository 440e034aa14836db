"""What the interpreter raises beyond Triton's own errors."""

from __future__ import annotations


class RejectedError(TypeError):
    """The kernel asks for something that the compiler refuses."""
