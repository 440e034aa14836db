"""Axis sizes aimed at the boundaries of tiles, and shapes made of them."""

from __future__ import annotations

import bisect
import dataclasses
import functools

from strategies.choices import Data, integer

#: Tile edges that sizes are aimed at when nothing else is known of a kernel: powers of two from 16 (the smallest edge
#: of `tl.dot`) to 128.
BLOCKS = (16, 32, 64, 128)
#: The largest size of most calls: beyond a tile of 1024, and a few rows of it still fit into the element budget.
LONGEST = 1100
#: Powers of two that a long axis ends next to: caps of blocks (`min(next_power_of_2(n), 2048)`) and of fused rows. Each
#: twice the next is as often as it is cheap.
LONG = (2048, 2048, 4096, 4096, 8192, 16384, 32768)

_PRIMES = (
    3,
    5,
    7,
    11,
    13,
    17,
    19,
    23,
    29,
    37,
    43,
    53,
    61,
    67,
    79,
    97,
    101,
    113,
    131,
    151,
    181,
    211,
    251,
    307,
    401,
    509,
)
_FEW = ((2, 8), (3, 6), (4, 4), (5, 3), (6, 2), (7, 3), (8, 3), (9, 2))


@dataclasses.dataclass(frozen=True)
class Ladder:
    """The sizes an axis is drawn from, the simplest first: 1, 0, 2, 3, ...; sizes worth a test stand in it many times.

    `steps` is the table; the sizes up to `n` are its first `reach(n)` entries.
    """

    steps: tuple[int, ...]
    smallest: int
    _ascending: tuple[int, ...]

    @property
    def largest(self) -> int:
        """The largest of them."""
        return self._ascending[-1]

    def reach(self, limit: int) -> int:
        """The number of entries of the table not above `limit`, at least 1."""
        if limit >= self._ascending[-1]:
            return len(self.steps)
        # 1 stands before 0, which no limit separates: every limit is at least 1
        return max(1, bisect.bisect_right(self._ascending, max(limit, 1)))

    def draw(self, data: Data, limit: int) -> int:
        """A size not above `limit`, or the smallest size there is."""
        return self.steps[integer(data, 0, self.reach(limit) - 1)]


@functools.lru_cache(maxsize=128)
def ladder(low: int, high: int, multiple: int = 1, blocks: tuple[int, ...] = BLOCKS) -> Ladder:
    """The sizes from `low` to `high` that divide by `multiple`, aimed at the edges of tiles of the sizes `blocks`.

    Shares, in hundredths about: a few elements 33, one 9, zero 4, k*BLOCK-1, k*BLOCK, k*BLOCK+1 for k up to 3 33, round
    powers of two and their neighbours beyond those 8, primes 4, multiples of 16 4; every other size has a little, so
    that a failing size can shrink to the smallest one that fails.
    """
    weights: dict[int, int] = {}

    def aim(size: int, weight: int) -> None:
        size = -(-size // multiple) * multiple
        if low <= size <= high:
            weights[size] = weights.get(size, 0) + weight

    aim(1, 900)
    if low == 0:
        weights[0] = 400
    for size, weight in _FEW:
        aim(size, 100 * weight)
    for block in blocks:
        for times, weight in ((1, 190), (2, 60), (3, 30)):
            for near in (-1, 0, 1):
                aim(times * block + near * multiple, weight * 4 // max(len(blocks), 4))
    power = 2
    while power - 1 <= high:
        for near in (-1, 0, 1):
            aim(power + near * multiple, 80 if power > 128 else 10)
        power *= 2
    for prime in _PRIMES:
        aim(prime, 15)
    for size in range(16, min(high, 16 * 20) + 1, 16):
        aim(size, 20)
    aim(high // multiple * multiple, 100)
    # sizes between the aimed ones matter only to shrinking: below 2200 all, above that the aimed ones are enough
    for size in range(-(-max(low, 1) // multiple) * multiple, min(high, 2 * LONGEST) + 1, multiple):
        weights.setdefault(size, 1)
    if not weights:
        weights[-(-low // multiple) * multiple] = 1
    ascending = tuple(size for size in sorted(weights) for _ in range(weights[size]))
    smallest = ascending[0]
    if smallest == 0 and len(weights) > 1:
        zeros = weights[0]
        first = ascending[zeros]
        ones = weights[first]
        steps = (first,) * ones + (0,) * zeros + ascending[zeros + ones :]
        return Ladder(steps, 0, (first,) * (ones + zeros) + ascending[zeros + ones :])
    return Ladder(ascending, smallest, ascending)


@dataclasses.dataclass(frozen=True)
class Stretch:
    """The sizes that a long axis is drawn from, in ascending order: `aimed` ones in nineteen of twenty draws, and every
    other size once, so that a failing one can shrink to the smallest that fails.

    As a table it would have half a million entries: an aimed size has `extra` more of them than another one.
    """

    smallest: int
    multiple: int
    count: int
    aimed: tuple[int, ...]
    extra: int

    def __len__(self) -> int:
        return self.count + len(self.aimed) * self.extra

    def draw(self, data: Data) -> int:
        """A size."""
        return self[integer(data, 0, len(self) - 1)]

    def __getitem__(self, index: int) -> int:
        for i, size in enumerate(self.aimed):
            behind = index - i * self.extra - (size - self.smallest) // self.multiple
            if behind < 0:
                return self.smallest + (index - i * self.extra) * self.multiple
            if behind <= self.extra:
                return size
        raise IndexError(index)


# of twenty long axes, one has any size
_ANY = 20


def stretch(low: int, high: int, multiple: int = 1) -> Stretch | None:
    """The long sizes from `low` to `high` that divide by `multiple`, None where there is none."""
    smallest = -(-max(low, 1) // multiple) * multiple
    aimed = []
    for power in LONG:
        for near in (-1, 0, 1, 1):
            size = -(-power // multiple) * multiple + near * multiple
            if max(smallest, LONGEST) <= size <= high:
                aimed.append(size)
    if not aimed:
        return None
    count = (max(aimed) - smallest) // multiple + 1
    return Stretch(smallest, multiple, count, tuple(sorted(aimed)), (_ANY - 1) * count // len(aimed))
