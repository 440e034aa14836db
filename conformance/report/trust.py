"""Whether the numbers of a run can be trusted: data that test nothing, and errors that lean to one side."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.report.records import CaseResult, Report

# Launches below which a median or a mean says little.
_LEAST = 50
# A median ratio below this means a bound that nothing reaches, and a share of undecided elements above this data that
# mostly overflow (oneDNN's benchdnn likewise calls a test mistrusted whose outputs are mostly zero).
MEDIAN = 1e-3
UNDECIDED = 0.2
# Standard errors by which a mean may be off zero. Correct kernels reach 2 on random data and 4 on that of the suite,
# where one value everywhere rounds alike; an eps in the denominator of a softmax reaches 10, a truncating cast 26.
LEANING = 8.0


@dataclasses.dataclass
class Bias:
    """The mean error over bound of each launch, positive away from zero: their number, sum and sum of squares."""

    launches: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, mean: float) -> None:
        """Count one launch."""
        self.launches += 1
        self.total += mean
        self.squares += mean * mean

    def merge(self, other: Bias) -> None:
        """Count the launches of another."""
        self.launches += other.launches
        self.total += other.total
        self.squares += other.squares

    @property
    def t(self) -> float:
        """The mean of launches in standard errors from 0; 0 where there are fewer than two, or none differs.

        >>> bias = Bias()
        >>> for mean in (0.1, 0.2, 0.1, 0.2): bias.add(mean)
        >>> round(bias.t, 2)
        5.2
        """
        if self.launches < 2:
            return 0.0
        mean = self.total / self.launches
        variance = (self.squares - self.launches * mean * mean) / (self.launches - 1)
        return mean / math.sqrt(variance / self.launches) if variance > 0 else 0.0


def mistrusted(reports: Iterable[Report]) -> Iterator[str]:
    """A sentence for each op whose results say too little about any kernel; nothing for those that may be trusted."""
    by_op: dict[str, list[CaseResult]] = {}
    for report in reports:
        by_op.setdefault(report.op, []).extend(report.results)
    for op, results in by_op.items():
        examples = sum(result.examples for result in results if result.undecided is not None)
        if examples < _LEAST:
            continue
        share = sum((result.undecided or 0.0) * result.examples for result in results) / examples
        # a result without an error says nothing of the width of its bound
        ratios = [ratio for result in results for _, ratio in result.points if ratio > 0]
        if share > UNDECIDED:
            yield (
                f"{op} is mistrusted: {share:.0%} of the elements are undecided, so that the data test little; narrow "
                "the domain of its inputs to what the operation can compute"
            )
        elif len(ratios) >= _LEAST and statistics.median(ratios) < MEDIAN:
            yield (
                f"{op} is mistrusted: the median error is {statistics.median(ratios):.1e} of the bound, which is so "
                "wide that faults pass; write the reference so that its bound is tighter, or promise order='tree'"
            )


def leaning(reports: Iterable[Report]) -> Iterator[str]:
    """A warning for each kernel and dtype whose errors lean to one side, which a bound of each element cannot see."""
    for report in reports:
        for result in report.results:
            if result.bias is not None and result.bias.launches >= _LEAST and abs(result.bias.t) > LEANING:
                side = "away from zero" if result.bias.t > 0 else "toward zero"
                yield (
                    f"warning: {report.kernel} in {result.dtype}: errors lean {side} (t = {result.bias.t:.1f} over "
                    f"{result.bias.launches} launches), as a truncating cast or an added constant makes them"
                )
