"""Drives Hypothesis: draws calls, collects every kind of objection, then shrinks each kind by itself."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any
from unittest import SkipTest

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.database import ExampleDatabase, choices_to_bytes
from hypothesis.errors import FlakyFailure, StopTest
from hypothesis.internal.entropy import deterministic_PRNG
from hypothesis.strategies import SearchStrategy

from conformance.batches import BACKEND, Batch, Batches, Choices, Drawn, Single, by_tables
from conformance.failures import ConformanceFailure
from conformance.oracles.objection import Objection

# Examples drawn after the first objection, in search of other kinds: faults that come together show within a few. A
# kernel that hangs takes its time in most of them, so they end, as shrinking does, when their seconds are over: of
# computing, so that a loaded machine finds the same.
_AFTER_FIRST = 20
# Seconds of shrinking for one kind; what is smallest by then is reported. Interpreted launches take about a
# millisecond, so nearly every shrink ends by itself long before.
_SHRINK_SECONDS = 20.0

# Draws for each example that was asked for, after which a strategy has no more calls, as Hypothesis takes it.
_DRAWS = 10

# Calls that are drawn, filled and launched before the first of them is judged: after a launch the code for that has
# left the processor's caches, and a call by itself costs two to three times as much. Few while it is not known what
# they are like, and more and more.
_FEW, _GROWTH, _MANY = 4, 4, 64

# new objects that make Python look for reference cycles; by default 700, which is every second example
_OBJECTS = 20_000

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


def _settings(
    examples: int, *phases: Phase, database: ExampleDatabase | None = None, backend: str = "hypothesis"
) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=examples,
        backend=backend,
        phases=phases,
        database=database,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        print_blob=False,
        # a large first draw or a slow kernel is no fault of the kernel's author
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for reference cycles less often: an example makes thousands of objects and hardly a cycle.

    It decorates, so that what a search has held is gone when Python counts again: it would be looked through at once.
    """
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@_rare_collections()
def explore(
    strategy: SearchStrategy[Any],
    check: Check,
    *,
    examples: int,
    seed: int,
    target: Callable[[], float | None] | None = None,
    progress: Callable[[], None] | None = None,
    ahead: Callable[[list[Any]], None] = lambda calls: None,
    shrink: bool = True,
    stop_at_first: bool = False,
    clock: Callable[[], float] = time.process_time,
) -> Exploration:
    """Every kind of objection within `examples` calls drawn from `seed`, each shrunk by itself.

    What `check` itself raises (an op whose reference fails, say) ends the search and is raised as it is.

    One failing property hides the others, since a test ends at its first exception. So the first pass only collects,
    and one more pass for each kind found starts from its call, shrinks that kind and ignores the rest. With
    `stop_at_first` the search ends at the first call with an objection, and nothing is shrunk. `ahead` is given the
    calls that `check` will be given next, a few at a time. `clock` gives the seconds that the calls have cost, where
    that is not the computing of this process.
    """
    result = Exploration()
    extra, until = 0 if stop_at_first else _AFTER_FIRST, math.inf
    size = _FEW
    seen: set[Hashable] = set()
    choices: dict[Kind, Choices] = {}
    broken: list[Exception] = []

    def left() -> int:
        return examples - result.examples

    def fresh(batch: Batch) -> Iterator[Drawn]:
        nonlocal size
        start = 0
        while start < len(batch):
            together = _unseen(batch[start : start + size], seen)
            ahead([call for call, _ in together[: left()]])
            yield from together
            start, size = start + size, min(_GROWTH * size, _MANY)

    def collect(batch: Batch) -> None:
        nonlocal extra, until
        for call, drawn in fresh(batch):
            if result.found:
                extra -= 1
            try:
                objections = check(call)
            except Exception as error:  # noqa: BLE001 - raised again below, as it is: Hypothesis would replay and wrap it
                broken.append(error)
                raise _Enough(str(error)) from None
            for objection in objections:
                if objection.failure not in result.found:
                    result.found[objection.failure], choices[objection.failure] = Found(call, objection), drawn
            result.examples += 1
            if target is not None and (value := target()) is not None:
                hypothesis.target(value, label="error over bound")
            if progress is not None:
                progress()
            if result.found:
                until = min(until, clock() + _SHRINK_SECONDS)
            if result.examples == examples or (result.found and (extra == 0 or clock() > until)):
                raise _Enough("as many as were asked for")

    try:
        with contextlib.suppress(_Enough):
            batches = by_tables(strategy, seed, lambda: min(size, left()), _DRAWS * examples)
            if target is None and batches is not None:
                with deterministic_PRNG():  # for launchers that ask Python or NumPy for random numbers
                    for batch in batches:
                        collect(batch)
            elif target is None:
                calls = Batches(strategy, left)
                _run(calls, collect, _settings(examples, Phase.generate, backend=BACKEND), seed)
            else:  # a climb changes a choice at a time, and takes one call a time
                settings = _settings(examples, Phase.generate, Phase.target)
                _run(Single(strategy), collect, settings, seed)
        if broken:
            raise broken[0]
        if shrink and not stop_at_first:
            for kind, drawn in choices.items():
                _shrink(Single(strategy), check, kind, result.found, drawn, seed)
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def _unseen(batch: Batch, seen: set[Hashable]) -> list[Drawn]:
    """The first of each call that is not in `seen`, where it is from then on."""
    unseen = []
    for drawn in batch:
        before = len(seen)
        seen.add(drawn[0])  # without asking first: the hash of a call is made of all that describes its tensors
        if len(seen) > before:
            unseen.append(drawn)
    return unseen


def _run(
    strategy: SearchStrategy[Batch], body: Callable[[Batch], None], settings: hypothesis.settings, seed: int
) -> None:
    # in this order: a seed takes the database away from settings that are there
    settings(hypothesis.seed(seed)(hypothesis.given(strategy)(lambda batch: body(batch))))()


def _shrink(
    strategy: SearchStrategy[Batch], check: Check, kind: Kind, found: dict[Kind, Found], choices: Choices, seed: int
) -> None:
    """Replace the kind's call in `found` by the smallest that Hypothesis reaches from its choices."""
    known: dict[Hashable, Objection | None] = {}
    deadline = time.monotonic() + _SHRINK_SECONDS

    def body(batch: Batch) -> None:
        ((call, _),) = batch
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
        _run(strategy, body, _settings(1, Phase.reuse, Phase.shrink, database=_Start(choices)), seed)


class _Start(ExampleDatabase):
    """Examples of an earlier run as Hypothesis wants them, of which there is one: where shrinking starts."""

    def __init__(self, choices: Choices) -> None:
        super().__init__()
        self._example = choices_to_bytes(choices)

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """The example, as one that was not shrunk: those have a key of their own."""
        return [self._example] if key.endswith(b".secondary") else []

    def save(self, key: bytes, value: bytes) -> None:
        """Nothing: what is found is in `found`."""

    def delete(self, key: bytes, value: bytes) -> None:
        """Nothing: there is no later run."""


class _Enough(SkipTest):
    """Tells Hypothesis that as many calls have been judged as were asked for.

    It takes a skip for what ends a test at once, where it would run a failing example twice more and word it.
    """


class _Objected(Exception):
    """Tells Hypothesis that a call shows the kind of objection that is being shrunk."""
