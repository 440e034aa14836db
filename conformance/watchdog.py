"""The time that a launch may take, and a thread that interrupts Python that loops without asking for any operation."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import time
from collections.abc import Callable
from typing import ClassVar

# Of CPU time for a whole call, kernels included; a kernel has less, and is then the one that is blamed. The slowest
# correct case of the suite takes under a second.
CALL_SECONDS = 30.0
# operations are checked against the clock themselves; what loops without one is interrupted this much later
_GRACE = 2.0
_TICK = 0.25
# A loaded machine may give a thread a tenth of its time, which is no hang; what waits and computes nothing never ends.
_WALL = 15


class HangError(RuntimeError):
    """A launch did not end within its time or number of operations."""

    def __init__(self, why: str = "no end to a loop that asks for no operation of Triton's language") -> None:
        # the watchdog can raise a class in another thread, but no message
        super().__init__(why)


class LauncherHang(HangError):
    """The Python round the kernels did not end within the time of a call."""

    def __init__(self, why: str = f"the launcher had not ended after {CALL_SECONDS:g} s of computing") -> None:
        super().__init__(why)


@functools.lru_cache(maxsize=64)
def _clock(thread: int, process: int) -> Callable[[], float]:
    """The clock of the CPU time of a thread of this process, whose forked child has threads of the same names."""
    if hasattr(time, "pthread_getcpuclockid"):
        return functools.partial(time.clock_gettime, time.pthread_getcpuclockid(thread))
    return time.process_time  # macOS has no clock of another thread


class Deadline:
    """The end of `seconds` of CPU time of the thread that makes it, or of 15 times as many on the wall's clock."""

    __slots__ = ("clock", "cpu", "seconds", "wall")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.clock = _clock(threading.get_ident(), os.getpid())
        self.cpu, self.wall = self.clock() + seconds, time.monotonic() + _WALL * seconds

    def passed(self) -> str:
        """Which time is used up, in words; empty while none is. Any thread may ask."""
        if self.clock() > self.cpu:
            return f"no end after {self.seconds:g} s of computing"
        return f"no end after {_WALL * self.seconds:g} s of waiting" if time.monotonic() > self.wall else ""


class Watchdog:
    """What may take a time, and `error`, the class that ends it; one thread of the process looks at all of them."""

    _all: ClassVar[list[Watchdog]] = []
    _process: ClassVar[int] = 0

    def __init__(self, error: type[HangError] = HangError) -> None:
        self.error = error
        self.deadline: Deadline | None = None
        self.thread = 0
        self.fired = False
        self.lock = threading.Lock()  # a block that ends and a block that is ended are one or the other
        self._all.append(self)

    def watch(self, seconds: float) -> Watch:
        """Raise the error inside the block if it computes longer than `seconds` and a little."""
        return Watch(self, seconds + _GRACE)

    def look(self) -> None:
        """End what has taken too long."""
        deadline = self.deadline
        try:
            late = deadline is not None and deadline.passed()
        except OSError:  # the thread ended after its block did
            return
        if late:
            with self.lock:
                if self.deadline is deadline:
                    self.deadline, self.fired = None, True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self.thread), ctypes.py_object(self.error)
                    )

    def end(self) -> None:
        """Let the block end: an error that is to end it, but waits for C code to return, is raised here and goes no
        further."""
        try:
            with self.lock:
                self.deadline = None
                fired, self.fired = self.fired, False
            if fired:
                # An error that waits is raised at a jump back. To take it back by setting none leaves CPython 3.11 with
                # a mark that something waits, on which a traced function runs in a circle (`DO_TRACING`, ceval.c).
                for _ in range(2):
                    pass
        except self.error:
            pass


def interrupted(error: BaseException | None) -> bool:
    """Whether the error was raised while an interrupt (Ctrl-C) was on its way through the frames."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


class Watch:
    """The block that a watchdog looks after; an interrupt that the watchdog's error overtakes leaves it as one."""

    __slots__ = ("seconds", "watchdog")

    def __init__(self, watchdog: Watchdog, seconds: float) -> None:
        self.watchdog, self.seconds = watchdog, seconds

    def __enter__(self) -> None:
        if Watchdog._process != os.getpid():  # a forked child has no thread of its parent's
            Watchdog._process = os.getpid()
            threading.Thread(target=_look, args=(Watchdog._all,), name="conformance-watchdog", daemon=True).start()
        self.watchdog.thread, self.watchdog.deadline = threading.get_ident(), Deadline(self.seconds)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.watchdog.end()
        if isinstance(error, self.watchdog.error) and interrupted(error):
            raise KeyboardInterrupt from None


def _look(watchdogs: list[Watchdog]) -> None:
    while True:
        time.sleep(_TICK)
        for watchdog in watchdogs:
            watchdog.look()
