"""Which device a worker of a parallel test run uses."""

from __future__ import annotations

import os

_XDIST = "PYTEST_XDIST_WORKER"  # "gw3"; pytest-xdist sets it in each worker, and their children inherit it


def worker() -> int:
    """The number of this pytest-xdist worker, 0 outside of one."""
    digits = "".join(c for c in os.environ.get(_XDIST, "") if c.isdigit())
    return int(digits) if digits else 0


def index(devices: int) -> int:
    """The CUDA device of this process: worker k uses device k mod n.

    Raises:
        ValueError: there is no device.
    """
    if devices < 1:
        raise ValueError("there is no CUDA device to place tensors on")
    return worker() % devices
