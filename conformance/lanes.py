"""The lanes of a trial: each test id is one lane, with the calls it draws and what it does with each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from hypothesis.strategies import SearchStrategy

from conformance.failures import AccuracyFailure, ExactFailure, SpecialValuesFailure, WrittenFailure
from conformance.launch import Launch, Settings
from conformance.oracles import (
    accuracy,
    batch_invariance,
    bounds,
    configs,
    crash,
    determinism,
    exact,
    huge_strides,
    inputs_kept,
    layouts,
    metadata,
    offsets,
    races,
    refusals,
    relations,
    special_values,
    written,
)
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import Call

# The memory oracles look at any launch; the value oracles at those whose values they are made for.
MEMORY: tuple[ModuleType, ...] = (crash, bounds, written, inputs_kept, metadata, races, offsets)
LAUNCH: tuple[ModuleType, ...] = (*MEMORY, accuracy)


_VALUES: tuple[ModuleType, ...] = (written, accuracy, special_values, exact)
_WRONG_VALUES = {AccuracyFailure, SpecialValuesFailure, ExactFailure}


def _launch_dry(trial: Trial, call: Call) -> None:
    trial.launch(call, Settings(dry=True))


@dataclasses.dataclass(frozen=True)
class Lane:
    """A test id: which calls are drawn, and what is asked of each.

    `law` says it in a sentence; `skip` gives the reason why the lane does not apply to a trial, None if it does. `dry`
    makes dry launches of what `check` launches on a GPU, for whoever compiles ahead. `flies` is set where a call is
    launched as it was drawn, so that it can be launched ahead, together with others (`flight`). `ends` is not set where
    launches are to raise.
    """

    id: str
    law: str
    draw: Callable[[Trial, torch.dtype | None], SearchStrategy[Any]]
    check: Callable[[Trial, Any], list[Objection]]
    skip: Callable[[Trial], str | None] = lambda trial: None
    dry: Callable[[Trial, Any], object] = _launch_dry
    flies: bool = False
    ends: bool = True


def objections(trial: Trial, launch: Launch, oracles: Sequence[ModuleType]) -> list[Objection]:
    """What the launch oracles say of one launch, in their order; values are judged where the metadata are right."""
    found: list[Objection] = []
    wrong = metadata.check(trial, launch)
    for oracle in oracles:
        if oracle is metadata:
            found.extend(wrong)
        elif not wrong or oracle not in _VALUES:
            found.extend(oracle.check(trial, launch))
    kinds = {objection.failure for objection in found}
    if kinds & _WRONG_VALUES and WrittenFailure not in kinds:
        found.extend(written.behind_wrong_values(trial, launch))
    return found


def _calls(lane: str, *, long: bool = False) -> Callable[[Trial, torch.dtype | None], SearchStrategy[Call]]:
    """Calls of the op, some with a `long` axis: where a block is capped, one launch shows it.

    The lanes that compare launches, or look at special or exact values, would take twice as long for it.
    """

    def draw(trial: Trial, dtype: torch.dtype | None) -> SearchStrategy[Call]:
        promises = trial.promises
        options: dict[str, Any] = {} if long else {"long": ()}
        return trial.op.calls(dtype=dtype, lane=lane, layouts=promises.layouts, limits=dict(promises.limits), **options)

    return draw


def _judged(*oracles: ModuleType) -> Callable[[Trial, Call], list[Objection]]:
    def check(trial: Trial, call: Call) -> list[Objection]:
        return objections(trial, trial.launch(call), oracles)

    return check


LANES: dict[str, Lane] = {
    lane.id: lane
    for lane in (
        Lane(
            "launch",
            "Each launch keeps the laws of memory and of accuracy.",
            _calls("numeric", long=True),
            _judged(*LAUNCH),
            flies=True,
        ),
        Lane(
            "special_values",
            special_values.LAW,
            _calls("special"),
            _judged(*MEMORY, special_values),
            flies=True,
        ),
        Lane("exact", exact.LAW, _calls("exact"), _judged(*MEMORY, exact), exact.skip, flies=True),
        Lane("determinism", determinism.LAW, _calls("numeric"), determinism.check, determinism.skip),
        Lane("layouts", layouts.LAW, _calls("numeric"), layouts.check, layouts.skip),
        Lane(
            "batch_invariance",
            batch_invariance.LAW,
            _calls("numeric"),
            batch_invariance.check,
            batch_invariance.skip,
        ),
        Lane("configs", configs.LAW, _calls("numeric", long=True), configs.check, configs.skip, configs.dry),
        Lane("relations", relations.LAW, relations.draw, relations.check, relations.skip, relations.dry),
        Lane("offsets", huge_strides.LAW, huge_strides.draw, huge_strides.check, huge_strides.skip),
        Lane("refusals", refusals.LAW, refusals.draw, refusals.check, refusals.skip, ends=False),
    )
}


def of(trial: Trial) -> tuple[str, ...]:
    """The ids of the lanes that apply to a trial, in the order of the table."""
    return tuple(name for name, lane in LANES.items() if lane.skip(trial) is None)
