"""Drives Hypothesis: draws calls, collects every kind of objection, then shrinks each kind by itself."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Hashable
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.errors import FlakyFailure, StopTest
from hypothesis.strategies import SearchStrategy

from conformance.failures import ConformanceFailure
from conformance.oracles.objection import Objection

# Examples drawn after the first objection, in search of other kinds: faults that come together show within a few.
_AFTER_FIRST = 20
# Seconds of shrinking for one kind; what is smallest by then is reported. Interpreted launches take about a
# millisecond, so nearly every shrink ends by itself long before.
_SHRINK_SECONDS = 20.0

Check = Callable[[Any], list[Objection]]
Kind = type[ConformanceFailure]


@dataclasses.dataclass
class Found:
    """One kind of objection, with the smallest call that was found for it."""

    call: Any
    objection: Objection


@dataclasses.dataclass
class Exploration:
    """What a search found: the examples judged, and the smallest call of each kind of objection."""

    examples: int = 0
    rejected: int = 0
    found: dict[Kind, Found] = dataclasses.field(default_factory=dict)
    interrupted: bool = False


def _settings(examples: int, *phases: Phase) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        print_blob=False,
        # a large first draw or a slow kernel is no fault of the kernel's author
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )


def explore(
    strategy: SearchStrategy[Any],
    check: Check,
    *,
    examples: int,
    seed: int,
    target: Callable[[], float | None] | None = None,
    progress: Callable[[], None] | None = None,
    shrink: bool = True,
    stop_at_first: bool = False,
) -> Exploration:
    """Every kind of objection within `examples` calls drawn from `seed`, each shrunk by itself.

    One failing property hides the others, since a test ends at its first exception. So the first pass only collects,
    and one more pass for each kind found, over the same calls, shrinks that kind and ignores the rest. With
    `stop_at_first` the search ends at the first call with an objection, and nothing is shrunk.
    """
    result = Exploration()
    extra = _AFTER_FIRST

    def collect(call: Any) -> None:
        nonlocal extra
        if result.found:
            if stop_at_first:
                raise _Objected  # Hypothesis runs the call that ended the search once more
            if extra == 0:
                return
            extra -= 1
        for objection in check(call):
            result.found.setdefault(objection.failure, Found(call, objection))
        result.examples += 1
        if stop_at_first and result.found:
            raise _Objected
        if target is not None and (value := target()) is not None:
            hypothesis.target(value, label="error over bound")
        if progress is not None:
            progress()

    try:
        with contextlib.suppress(_Objected):
            _run(strategy, collect, _settings(examples, Phase.generate, Phase.target), seed)
        if shrink and not stop_at_first:
            for kind in list(result.found):
                _shrink(strategy, check, kind, result.found, examples, seed)
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def _run(strategy: SearchStrategy[Any], body: Callable[[Any], None], settings: hypothesis.settings, seed: int) -> None:
    hypothesis.seed(seed)(settings(hypothesis.given(strategy)(lambda call: body(call))))()


def _shrink(
    strategy: SearchStrategy[Any], check: Check, kind: Kind, found: dict[Kind, Found], examples: int, seed: int
) -> None:
    """Replace the kind's call in `found` by the smallest that Hypothesis reaches."""
    known: dict[Hashable, Objection | None] = {}
    deadline = time.monotonic() + _SHRINK_SECONDS

    def body(call: Any) -> None:
        if call not in known:
            if time.monotonic() > deadline:
                return  # not remembered: only calls that were judged are, and a replayed one stays as it was
            known[call] = next((o for o in check(call) if o.failure is kind), None)
        objection = known[call]
        if objection is not None:
            found[kind] = Found(call, objection)
            raise _Objected

    # `found` holds the last call that was judged: Hypothesis replays the smallest at the end
    with contextlib.suppress(_Objected, FlakyFailure, StopTest):
        _run(strategy, body, _settings(examples, Phase.generate, Phase.target, Phase.shrink), seed)


class _Objected(Exception):
    """Tells Hypothesis that a call shows the kind of objection that is being shrunk."""
