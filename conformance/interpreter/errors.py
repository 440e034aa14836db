"""What the interpreter raises beyond Triton's own errors."""

from __future__ import annotations


class HangError(RuntimeError):
    """A launch did not end within its time or number of operations."""

    def __init__(self, why: str = "no end to a loop that asks for no operation of Triton's language") -> None:
        # the watchdog can raise a class in another thread, but no message
        super().__init__(why)


class RejectedError(TypeError):
    """The kernel asks for something that the compiler refuses."""
