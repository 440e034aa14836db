"""What one of Hypothesis's examples holds: many calls, drawn by their tables from one choice."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.strategies import SearchStrategy

from strategies.choices import FAR, Data, TableStrategy

T = TypeVar("T")
Choices = tuple[Any, ...]
Batch = tuple[tuple[Any, Choices], ...]

# Calls in one of Hypothesis's own examples, which costs as much as drawing twenty calls by their tables (Hypothesis
# 6.170: 0.6 ms).
_CALLS = 128
# the seeds of a batch, of which 0 stands for the simplest call
_SEEDS = 2**53


class Tables:
    """Draws the entries of tables as Hypothesis's data does, from a generator of its own and at a tenth of the cost.

    Other strategies are drawn from `data`. `choices` are those of the calls so far, as Hypothesis would have made them:
    it starts from them where it shrinks a call.
    """

    __slots__ = ("_data", "_random", "choices")

    def __init__(self, data: Data, seed: int) -> None:
        self._data = data
        self._random: Callable[[], float] = random.Random(seed).random if seed else float
        self.choices: list[Any] = []

    def draw_integer(self, min_value: int, max_value: int, *, shrink_towards: int) -> int:
        """An integer between the bounds, both included, each equally likely."""
        choice = min_value + int(self._random() * (max_value - min_value + 1))
        self.choices.append(choice)
        return choice

    def draw(self, strategy: SearchStrategy[T]) -> T:
        """A value of another strategy."""
        if isinstance(strategy, TableStrategy):
            return strategy.do_draw(self)  # type: ignore[arg-type, no-any-return]
        start = len(self._data.nodes)
        value = self._data.draw(strategy)
        self.choices.extend(node.value for node in self._data.nodes[start:])
        return value


class Batches(SearchStrategy[Batch]):
    """A strategy of many calls of another strategy, not more than `left`, each with the choices behind it."""

    def __init__(self, strategy: SearchStrategy[Any], left: Callable[[], int]) -> None:
        super().__init__()
        self._strategy = strategy
        self._left = left

    def do_draw(self, data: Data) -> Batch:
        """A batch of calls, or of the simplest call alone."""
        seed = data.draw_integer(FAR, FAR + _SEEDS - 1, shrink_towards=FAR) - FAR
        tables = Tables(data, seed)
        batch = []
        for _ in range(max(1, min(_CALLS, self._left())) if seed else 1):
            start = len(tables.choices)
            call = tables.draw(self._strategy)
            batch.append((call, tuple(tables.choices[start:])))
            if data.length > data.max_length // 2:
                break  # an example has a largest size, which calls with strategies of others may reach
        return tuple(batch)


class Single(SearchStrategy[Batch]):
    """A strategy of a batch of one call, in whose choices Hypothesis climbs and shrinks."""

    def __init__(self, strategy: SearchStrategy[Any]) -> None:
        super().__init__()
        self._strategy = strategy

    def do_draw(self, data: Data) -> Batch:
        """One call."""
        # not data.draw: Hypothesis copies one drawn part of an example over another, and would repeat whole calls
        call = self._strategy.do_draw(data)
        return ((call, tuple([node.value for node in data.nodes])),)


class _Even(HypothesisProvider):
    """Draws seeds and the entries of tables evenly, and everything else as Hypothesis does.

    An engine that asks another provider than its own for its examples neither repeats parts of an example in the next
    nor looks for examples that are as small as can be: those are calls that have been judged.
    """

    def draw_integer(self, min_value: int | None = None, max_value: int | None = None, **options: Any) -> int:
        """An integer between the bounds."""
        if min_value != FAR or max_value is None or self._random is None:
            return super().draw_integer(min_value, max_value, **options)
        return FAR + int(self._random.random() * (max_value - FAR + 1))


BACKEND = "conformance"
AVAILABLE_PROVIDERS[BACKEND] = _Even
