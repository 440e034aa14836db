"""What is being observed now: the one place that the core and the runtimes (interpreter, emulator, device) share.

The core opens an `Observation` round a call of the kernel under test; whatever launches a Triton or CUDA kernel inside
it reads the settings from there and appends what it saw. With no observation open, kernels just run.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

from conformance.events import Event
from conformance.regions import Arena

Order = Literal["row", "reverse", "random"]

# The largest grid in x, y and z (CUDA C++ Programming Guide, technical specifications).
LARGEST_GRID = (2**31 - 1, 65535, 65535)


# Configs of an autotuned kernel that one call tries: more are spread over the calls, so that one of them stays within a
# few launches, and on a GPU within a few compiles.
MOST_CONFIGS = 4


def tried(count: int, seed: int) -> list[int]:
    """Which of `count` configs a call tries: in turn from the seed on.

    >>> tried(8, 6), tried(3, 1)
    ([6, 7, 0, 1], [1, 2, 0])
    """
    return [(seed + k) % count for k in range(min(MOST_CONFIGS, count))]


@dataclasses.dataclass(frozen=True)
class Geometry:
    """The shape of one launch: the kernel's name, grid, block (CUDA; else ()), and meta-parameters."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, ...] = ()
    meta: tuple[tuple[str, Any], ...] = ()


@dataclasses.dataclass
class Observation:
    """Settings for the launches inside one call, and what was seen of them."""

    arena: Arena
    order: Order = "row"
    seed: int = 0  # of a random order, and of the configs that a tuning launch on a GPU tries
    trace: bool = True  # False: values only, at full speed
    dry: bool = False  # True: record the geometry, run nothing
    config: int | None = None  # which of an autotuned kernel's configs to run; None: the one its tuner has chosen
    tune: bool = False  # forget what the tuner chose, so that this call is the first at its key
    compiler: tuple[tuple[str, int], ...] = ()  # options of Triton's compiler on a GPU, over those of the launch
    overflow: bool = True  # report 32-bit overflow in integer arithmetic
    # where interpreted launches go instead of being made, each with the arena's version, to be made later with those of
    # other calls; None: at once
    waiting: list[tuple[Any, int]] | None = None
    events: list[Event] = dataclasses.field(default_factory=list)
    geometry: list[Geometry] = dataclasses.field(default_factory=list)
    # a floating-point atomic ran, or a compare-and-swap, as locks and adding loops have: program order may change bits
    float_atomics: bool = False
    configs: int = 1  # the largest number of configs that an autotuned kernel of this call has


_open: list[Observation] = []


def current() -> Observation | None:
    """The observation that is open, None outside the suite."""
    return _open[-1] if _open else None


@contextlib.contextmanager
def observe(observation: Observation) -> Iterator[Observation]:
    """Let the launches inside the block be seen by `observation`."""
    _open.append(observation)
    try:
        yield observation
    finally:
        _open.pop()
