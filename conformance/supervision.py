"""A command in a process of its own, so that a kernel that ends its process does not end the command without a word."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from types import FrameType

# What the parent was when this process was forked, and the pipe that tells it of an orderly end.
_parent: list[int] = []
_pipe: list[int] = []


class Leave(SystemExit):
    """A command ends with an exit code of its own."""


def fork() -> str | None:
    """None in a child process, which goes on; to the parent, once the child has ended, how a kernel ended it.

    On a system without `fork` it is None, in this process.

    Raises:
        Leave: in the parent, where the child came to its end and gave its exit code.
    """
    if not hasattr(os, "fork"):
        return None
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setpgid(0, 0)  # a terminal sends Ctrl-C to a whole group: it is to come once, from the parent
        _parent[:] = [parent]
        _pipe[:] = [writer]
        atexit.register(orderly)
        return None
    os.close(writer)
    status = _wait(child)
    ended = os.read(reader, 1)
    os.close(reader)
    if ended and status >= 0:
        raise Leave(status)
    if status < 0:
        return f"signal {-status} ({signal.Signals(-status).name})"
    return f"exit code {status}"


def orderly() -> None:
    """Tell the parent that the process ends by itself from here on, and not by a kernel's doing."""
    if _pipe:
        os.write(_pipe[0], b".")
        os.close(_pipe.pop())


def orphaned() -> bool:
    """Whether the parent was killed, and nobody waits for what this process finds."""
    return bool(_parent) and os.getppid() != _parent[0]


def _wait(child: int) -> int:
    """The exit code of the child, or minus the signal that ended it. Signals are the child's to answer."""

    def forward(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        _, status = os.waitpid(child, 0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return os.waitstatus_to_exitcode(status)
