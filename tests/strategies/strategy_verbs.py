"""Three verbs that make a test of a strategy one line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.errors import NoSuchExample
from hypothesis.statistics import collector
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

_QUIET = settings(
    max_examples=2000, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def minimal(strategy: SearchStrategy[T], condition: Callable[[T], bool] = lambda value: True) -> T:
    """The simplest value that satisfies the condition."""
    return find(strategy, condition, settings=_QUIET)


def find_any(strategy: SearchStrategy[T], condition: Callable[[T], bool], *, examples: int = 2000) -> T:
    """Some value that satisfies the condition. Fails the test where `examples` draws have none."""
    quick = settings(_QUIET, max_examples=examples, phases=[Phase.generate])
    with contextlib.suppress(NoSuchExample):
        return find(strategy, condition, settings=quick)
    raise AssertionError(f"no such value in {examples} draws of {strategy!r}")


def sample(strategy: SearchStrategy[T], examples: int) -> tuple[list[T], int]:
    """Drawn values, and how many draws Hypothesis rejected (filtered, assumed away, or too long)."""
    values: list[T] = []
    records: list[Any] = []

    @settings(_QUIET, max_examples=examples, phases=[Phase.generate])
    @given(strategy)
    def run(value: T) -> None:
        values.append(value)

    with collector.with_value(records.append):
        run()
    statuses = [case["status"] for record in records for case in record["generate-phase"]["test-cases"]]
    assert len(statuses) >= len(values) > 0, "the statistics of Hypothesis have another form"
    return values, sum(status != "valid" for status in statuses)
