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
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.strategies import SearchStrategy

from conformance.failures import ConformanceFailure
from conformance.oracles.objection import Objection
from strategies.choices import FAR, Data, entry

# Examples drawn after the first objection, in search of other kinds: faults that come together show within a few. A
# kernel that hangs takes its time in most of them, so they end, as shrinking does, when their seconds are over: of
# computing, so that a loaded machine finds the same.
_AFTER_FIRST = 20
# Seconds of shrinking for one kind; what is smallest by then is reported. Interpreted launches take about a
# millisecond, so nearly every shrink ends by itself long before.
_SHRINK_SECONDS = 20.0

# Calls in one of Hypothesis's own examples, which costs about as much as drawing and judging two or three small calls;
# the first is the simplest, the last the most usual. A climb changes a choice at a time, and takes one call a time.
_SIZES = (1, 2, 4, *[16] * 13)
_ONE = (1,)

# new objects that make Python look for reference cycles; by default 700, which is every second example
_OBJECTS = 20_000

Check = Callable[[Any], list[Objection]]
Kind = type[ConformanceFailure]
Choices = tuple[Any, ...]
Batch = tuple[tuple[Any, Choices], ...]


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
    clock: Callable[[], float] = time.process_time,
) -> Exploration:
    """Every kind of objection within `examples` calls drawn from `seed`, each shrunk by itself.

    What `check` itself raises (an op whose reference fails, say) ends the search and is raised as it is.

    One failing property hides the others, since a test ends at its first exception. So the first pass only collects,
    and one more pass for each kind found starts from its call, shrinks that kind and ignores the rest. With
    `stop_at_first` the search ends at the first call with an objection, and nothing is shrunk. `clock` gives the
    seconds that the calls have cost, where that is not the computing of this process.
    """
    result = Exploration()
    extra, until = 0 if stop_at_first else _AFTER_FIRST, math.inf
    seen: set[Hashable] = set()
    choices: dict[Kind, Choices] = {}
    broken: list[Exception] = []

    def collect(batch: Batch) -> None:
        nonlocal extra, until
        for call, drawn in batch:
            if call in seen:
                continue
            seen.add(call)
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
        with contextlib.suppress(_Enough), _rare_collections():
            if target is None:
                batches = _Batches(strategy, _SIZES, lambda: examples - result.examples)
                _run(batches, collect, _settings(examples, Phase.generate, backend=_BACKEND), seed)
            else:
                settings = _settings(examples, Phase.generate, Phase.target)
                _run(_Batches(strategy, _ONE), collect, settings, seed)
        if broken:
            raise broken[0]
        if shrink and not stop_at_first:
            for kind, drawn in choices.items():
                _shrink(_Batches(strategy, _ONE), check, kind, result.found, drawn, seed)
    except KeyboardInterrupt:
        result.interrupted = True
    return result


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Let Python look for reference cycles less often: an example makes thousands of objects and hardly a cycle."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


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


class _Batches(SearchStrategy[Batch]):
    """A strategy of calls, as many as one of `sizes` says and not more than `left`, each with the choices behind it."""

    def __init__(
        self, strategy: SearchStrategy[Any], sizes: tuple[int, ...], left: Callable[[], int] = lambda: max(_SIZES)
    ) -> None:
        super().__init__()
        self._strategy = strategy
        self._sizes = sizes
        self._left = left

    def do_draw(self, data: Data) -> Batch:
        """A batch of calls."""
        batch = []
        for _ in range(max(1, min(entry(data, self._sizes), self._left()))):
            start = len(data.nodes)
            # not data.draw: Hypothesis copies one drawn part of an example over another, and would repeat whole calls
            call = self._strategy.do_draw(data)
            batch.append((call, tuple([node.value for node in data.nodes[start:]])))
            if data.length > data.max_length // 2:
                break  # an example has a largest size, and calls of the ops that ship are a fiftieth of it
        return tuple(batch)


class _Even(HypothesisProvider):
    """Draws the entries of tables evenly, and everything else as Hypothesis does.

    Its own provider comes to the same numbers, by a distribution that it first has to cut to the table, and an engine
    that asks another one for its examples neither repeats parts of an example in the next nor looks for examples that
    are as small as can be: with tables, those are calls that have been judged (a third of the calls that it drew).
    """

    def draw_integer(self, min_value: int | None = None, max_value: int | None = None, **options: Any) -> int:
        """An integer between the bounds."""
        if min_value != FAR or max_value is None or self._random is None:
            return super().draw_integer(min_value, max_value, **options)
        return FAR + int(self._random.random() * (max_value - FAR + 1))


_BACKEND = "conformance"
AVAILABLE_PROVIDERS[_BACKEND] = _Even


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
