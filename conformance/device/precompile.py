"""Compiles what a case will launch on all cores, before it launches anything.

A kernel is compiled for each dtype, set of meta-parameters and class that Triton specializes on: 0.05 to 0.5 s (H200)
each, one after the other, where launches take microseconds. Triton keeps what is compiled in its cache on disk.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from conformance import runtime
from conformance.device import watch
from conformance.explore import explore

if TYPE_CHECKING:
    from conformance.lanes import Lane
    from conformance.trial import Trial

# More processes than this spend longer on their CUDA contexts than they save.
_MOST = 8


def shares() -> int:
    """How many processes may compile at once: this worker's part of the cores."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1, min(_MOST, (os.cpu_count() or 1) // workers))


def prepare(trial: Trial, lane: Lane, dtype: torch.dtype | None, *, examples: int, seed: int) -> watch.Counts | None:
    """What was compiled ahead, for the calls that the seed draws; None where nothing was to do.

    That is: the trial is not isolated on a GPU, was prepared for the dtype before, or has one core to compile on.
    """
    if trial.remote is None or runtime.current() != "gpu" or dtype in trial.compiled_for or shares() < 2:
        return None
    trial.compiled_for.add(dtype)
    counts = trial.remote.compile(calls(trial, lane, dtype, examples=examples, seed=seed), shares())
    watch.totals().add(counts)
    return counts


def calls(trial: Trial, lane: Lane, dtype: torch.dtype | None, *, examples: int, seed: int) -> list[Any]:
    """What the lane draws from the seed, as `explore` will draw it again, without launching anything."""
    drawn: list[Any] = []

    def keep(call: Any) -> list[Any]:
        drawn.append(call)
        return []

    explore(lane.draw(trial, dtype), keep, examples=examples, seed=seed, shrink=False)
    return drawn
