"""Interrupts a kernel whose Python loops without asking for any operation, where nothing else looks at the clock."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Iterator

from conformance.interpreter.errors import HangError

# operations are checked against the clock themselves; what loops without one is interrupted this much later
_GRACE = 2.0
_TICK = 0.25


class Watchdog:
    """One thread for the process, started when it is first needed."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.thread = 0
        self.process = 0

    @contextlib.contextmanager
    def watch(self, seconds: float) -> Iterator[None]:
        """Raise HangError inside the block if it takes longer than `seconds` and a little."""
        if self.process != os.getpid():  # a forked child has no thread of its parent's
            self.process = os.getpid()
            threading.Thread(target=self._run, name="conformance-watchdog", daemon=True).start()
        self.thread, self.deadline = threading.get_ident(), time.monotonic() + seconds + _GRACE
        try:
            yield
        finally:
            self.deadline = None

    def _run(self) -> None:
        while True:
            time.sleep(_TICK)
            deadline = self.deadline
            if deadline is not None and time.monotonic() > deadline:
                self.deadline = None
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread), ctypes.py_object(HangError))
