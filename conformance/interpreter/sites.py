"""Which line of a kernel's source an operation comes from."""

from __future__ import annotations

import abc
import linecache
import os
import sys

import triton

from conformance.events import Site

_FOREIGN = (
    os.path.dirname(triton.__file__) + os.sep,
    os.path.dirname(__file__) + os.sep,
    # where the interruption of a hang may arrive: NumPy's and Triton's `isinstance` of abstract classes
    abc.ABCMeta.register.__code__.co_filename,
)


def foreign(file: str) -> bool:
    """Whether a source file belongs to Triton, to the interpreter or to Python, not to a kernel."""
    return file.startswith(_FOREIGN)


def here() -> tuple[str, int]:
    """File and line of the innermost frame that belongs to a kernel or a device function of the author's."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not foreign(name):
            return name, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return "?", 0


def site(place: tuple[str, int]) -> Site:
    """The place as an event shows it, with the text of the line."""
    file, line = place
    return Site(file, line, linecache.getline(file, line).strip())
