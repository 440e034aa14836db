"""How this package draws: one bounded integer at a time, the index into a table that is ordered simplest first.

A drawn integer costs about 40 us, a nested strategy about 100 us (Hypothesis 6.170, CPython 3.11), and a call must be
drawn and filled in well under a millisecond. An index shrinks to the first entry that still fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

if TYPE_CHECKING:
    from hypothesis.internal.conjecture.data import ConjectureData

    Data: TypeAlias = ConjectureData
else:
    Data = Any  # hypothesis has no public name for it

T = TypeVar("T")


# Hypothesis favours integers near zero (6.170 by a heavy-tailed distribution, even between bounds), and those that
# stand as literals in the code under test. Tables say how often each entry is to come, so indices are drawn from a
# range where both effects vanish: far out it draws evenly.
FAR = 2**64


def integer(data: Data, low: int, high: int) -> int:
    """An integer from `low` to `high`, both included, each equally likely; `low` is the simplest.

    It is drawn even where they are equal: of two draws Hypothesis takes the one with fewer choices for the simpler, so
    a large size must not save the choices that depend on it. `high - low` must stay below 2**20.
    """
    return data.draw_integer(FAR, FAR + high - low, shrink_towards=FAR) - FAR + low


class TableStrategy(SearchStrategy[T]):
    """A strategy that draws table entries and strategies alone: of its data it needs `draw_integer` and `draw`, so that
    who has another source of evenly drawn integers need not ask Hypothesis for each."""

    @property
    def tables_alone(self) -> bool:
        """Whether the strategies that it draws are such, too."""
        return True


def entry(data: Data, table: Sequence[T]) -> T:
    """An entry of a table that is not empty; the first is the simplest. Nothing is drawn from a single one."""
    return table[0] if len(table) == 1 else table[integer(data, 0, len(table) - 1)]


def weighted(rows: Iterable[tuple[T, int]]) -> tuple[T, ...]:
    """A table in which each row stands as often as its weight says, in the order given.

    >>> weighted([("a", 1), ("b", 2)])
    ('a', 'b', 'b')
    """
    return tuple(row for row, weight in rows for _ in range(weight))


def refuse(argument: str, value: object, advice: str) -> InvalidArgument:
    """The error for a wrong argument: which one, what was given, what to give instead."""
    return InvalidArgument(f"{argument}={value!r}: {advice}")
