"""The start of the command `conformance`, seconds of imports in which there is nothing to keep yet."""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing.process import parent_process
from pathlib import Path
from types import FrameType

INTERRUPTED = 130  # what a shell says of a program that SIGINT ended

_begun: list[bool] = []


def begin() -> None:
    """Let Ctrl-C end the process with one line, where it is the command's: libraries that are imported swallow an
    interrupt, or show a traceback of theirs."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_process)
        _begun.append(True)


def end() -> None:
    """The command runs: Ctrl-C is an exception again."""
    if _begun:
        _begun.clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    if parent_process() is not None or not sys.argv:  # a process that the command started is no command
        return False
    if sys.argv[0] == "-m":  # what Python says until it has found the package
        return "conformance" in sys.orig_argv
    return Path(sys.argv[0]).stem == "conformance"


def _end_process(number: int, frame: FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
