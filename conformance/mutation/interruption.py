"""Ctrl-C and SIGTERM as a question that is asked between mutants, so that no process of theirs is left behind."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def interruption() -> Iterator[Callable[[], bool]]:
    """A function that says whether SIGINT or SIGTERM has come inside the block, where they raise nothing.

    A signal that is ignored stays so; outside the main thread, which alone gets signals, the answer is always no.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    main = threading.current_thread() is threading.main_thread()
    wanted = [each for each in (signal.SIGINT, signal.SIGTERM) if main and signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, note) for each in wanted}
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
