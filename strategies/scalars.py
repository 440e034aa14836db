"""Scalars: strategies of numbers and flags that kernels take beside tensors."""

from __future__ import annotations

from typing import TypeVar

from hypothesis.strategies import SearchStrategy

from strategies.choices import Data, TableStrategy, entry, refuse, weighted

T = TypeVar("T")


class Table(TableStrategy[T]):
    """A strategy of the entries of a table, the simplest first."""

    def __init__(self, table: tuple[T, ...], text: str) -> None:
        super().__init__()
        self._table = table
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def do_draw(self, data: Data) -> T:
        """An entry."""
        return entry(data, self._table)


def epsilons() -> SearchStrategy[float]:
    """A strategy of the eps that keeps a norm from dividing by zero: 1e-5 and 1e-6 as models have them, and from one so
    small that float16 does not hold it to one that dominates."""
    # 1e-12 is that of the original BERT layers, 1e-3 that of batch norm in some vision models
    return _table("epsilons()", ((1e-5, 4), (1e-6, 4), (1e-3, 2), (1e-12, 2), (1e-8, 1), (0.1, 2), (1.0, 1)))


def scales() -> SearchStrategy[float]:
    """A strategy of factors: 1, powers of two, 1/sqrt(d) as attention has it, negative ones, 0."""
    return _table(
        "scales()",
        (
            (1.0, 4),
            (0.5, 2),
            (2.0, 2),
            (0.125, 2),
            (64**-0.5, 1),
            (80**-0.5, 2),
            (0.1, 2),
            (-1.0, 2),
            (0.0, 1),
            (1.7, 2),
        ),
    )


def rates() -> SearchStrategy[float]:
    """A strategy of probabilities of dropping an element: 0 and 1 included."""
    return _table("rates()", ((0.5, 3), (0.0, 2), (0.1, 3), (0.9, 2), (1.0, 1)))


def flags() -> SearchStrategy[bool]:
    """A strategy of switches; False is the simplest."""
    return _table("flags()", ((False, 1), (True, 1)))


def choices(*values: object) -> SearchStrategy[object]:
    """A strategy of the given values, the first is the simplest. Raises InvalidArgument where there are none."""
    if not values:
        raise refuse("values", values, "give at least one value")
    return Table(values, f"choices({', '.join(map(repr, values))})")


def _table(text: str, rows: tuple[tuple[T, int], ...]) -> SearchStrategy[T]:
    return Table(weighted(rows), text)
