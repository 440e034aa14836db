from __future__ import annotations

import os
from collections.abc import Callable

import pytest


@pytest.fixture
def resident() -> Callable[[], int]:
    """Bytes of memory that this process has in use now."""

    def read() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    return read
