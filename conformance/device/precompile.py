"""Compiles what a case will launch on all cores, before it launches anything.

A kernel is compiled for each dtype, set of meta-parameters and class that Triton specializes on: 0.05 to 0.5 s (H200)
each, one after the other, where launches take microseconds. Triton keeps what is compiled in its cache on disk.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from conformance import runtime
from conformance.device import watch
from conformance.explore import explore
from conformance.oracles import configs

if TYPE_CHECKING:
    from conformance.device.judge import Judge, LaneLike
    from conformance.lanes import Lane
    from conformance.trial import Trial

# Triton's front end is Python, so that more threads than this wait for its lock (a kernel spends a tenth of its compile
# time there).
_MOST = 16
NOT_LAUNCHED = frozenset({"refusals", "offsets"})


def threads() -> int:
    """How many kernels are compiled at once."""
    return max(1, min(_MOST, os.cpu_count() or 1))


def prepare(judge: Judge, lane: Lane, dtype: torch.dtype | None, *, examples: int, seed: int) -> None:
    """Compile ahead what the calls that the seed draws will launch.

    Nothing is done where kernels are interpreted, in lanes whose calls are not for the device, and for a dtype whose
    kernels were compiled for an earlier lane: most lanes launch much the same, but for `configs`.
    """
    trial = judge.trial
    share = (dtype, lane.id == configs.ID)
    if runtime.current() != "gpu" or lane.id in NOT_LAUNCHED or share in trial.compiled_for:
        return
    trial.compiled_for.add(share)
    watch.totals().add(judge.compile(calls(trial, lane, dtype, examples=examples, seed=seed)))


def calls(trial: Trial, lane: Lane, dtype: torch.dtype | None, *, examples: int, seed: int) -> list[Any]:
    """What the lane draws from the seed, as `explore` will draw it again, without launching anything."""
    drawn: list[Any] = []

    def keep(call: Any) -> list[Any]:
        drawn.append(call)
        return []

    explore(lane.draw(trial, dtype), keep, examples=examples, seed=seed, shrink=False)
    return drawn


def compile_calls(trial: Trial, lane: LaneLike, drawn: Sequence[Any]) -> watch.Counts:
    """What was compiled, in this process, of what the lane launches for the calls."""
    with watch.compiling(threads()) as counts:
        for each in drawn:
            lane.dry(trial, each)
    return counts
