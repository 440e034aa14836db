"""What the interpreter raises beyond Triton's own errors."""

from __future__ import annotations

#: What to do with a kernel that uses what the interpreter cannot run.
ON_A_GPU = "test this kernel on a GPU (`pytest --conformance-runtime gpu`), or give it a path without it for the CPU"


class RejectedError(TypeError):
    """The kernel asks for something that the compiler refuses."""
