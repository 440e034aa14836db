"""Which classes of the input space the calls of a case have reached, and which they have not."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import torch

from conformance.observation import Geometry
from conformance.report.tiles import block_of, of_block
from strategies import LAYOUTS, Call, TensorDescription, name_of

# The classes that a full run reaches in each dimension; a class with no example is a hole. Sizes are those at which
# kernels fail (block boundaries) or for which Triton compiles another kernel (1, multiples of 16).
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "axis size": ("0", "1", "multiple of 16", "power of two + 1", "power of two - 1", "prime", "other"),
    "last axis mod BLOCK": ("0", "1", "BLOCK - 1", "between", "shorter than BLOCK"),
    "layout": LAYOUTS,
    "dtype": (),
    "values": (),
    "programs": ("0", "1", "2 to 4", "5 to 16", "more than 16"),
}


class Coverage:
    """Counts of calls by dimension and class of the input space."""

    def __init__(self) -> None:
        self._calls: list[tuple[Call, Sequence[Geometry]]] = []

    def count(self, call: Call, geometry: Sequence[Geometry] = ()) -> None:
        """Count a call and the launches that it made."""
        self._calls.append((call, geometry))  # classified at the end, all together: in between launches it costs thrice

    def counts(self) -> dict[str, dict[str, int]]:
        """The number of calls by dimension and class, as `CaseResult.coverage` holds them."""
        numbers: Counter[tuple[str, str]] = Counter()
        for call, geometry in self._calls:
            numbers.update(_classes(call, geometry))
        found: dict[str, dict[str, int]] = {}
        for (dimension, name), number in numbers.items():
            found.setdefault(dimension, {})[name] = number
        return found


def holes(coverage: Mapping[str, Mapping[str, int]]) -> dict[str, list[str]]:
    """The known classes, by dimension, that no call has reached; of dimensions of which something is known."""
    return {
        dimension: missing
        for dimension, names in coverage.items()
        if (missing := [name for name in DIMENSIONS.get(dimension, ()) if not names.get(name)])
    }


def _classes(call: Call, geometry: Sequence[Geometry]) -> set[tuple[str, str]]:
    found = {("programs", program_class(math.prod(launch.grid))) for launch in geometry}
    block = block_of(geometry[-1]) if geometry else (None, None)
    for _, value in call.arguments:
        if isinstance(value, TensorDescription):
            found.update(_shape_classes(value.shape, block))
            name = value.values.distribution or value.values.pattern
            found.update(_other_classes(value.layout.kinds, value.dtype, name))
    return found


@functools.lru_cache(maxsize=1024)
def _shape_classes(shape: tuple[int, ...], block: tuple[int | None, int | None]) -> tuple[tuple[str, str], ...]:
    sizes = [("axis size", size_class(size)) for size in shape]
    tile = of_block(block, len(shape)) if shape and shape[-1] else None
    return (*sizes, *([] if tile is None else [("last axis mod BLOCK", block_class(shape[-1], tile[-1]))]))


@functools.lru_cache(maxsize=1024)
def _other_classes(kinds: tuple[str, ...], dtype: torch.dtype, values: str) -> tuple[tuple[str, str], ...]:
    return (*[("layout", kind) for kind in kinds], ("dtype", name_of(dtype)), ("values", values))


@functools.lru_cache(maxsize=4096)
def size_class(size: int) -> str:
    """The class of an axis size.

    >>> [size_class(n) for n in (0, 1, 17, 31, 48, 53, 21)]
    ['0', '1', 'power of two + 1', 'power of two - 1', 'multiple of 16', 'prime', 'other']
    """
    if size < 2:
        return str(size)
    if size % 16 == 0:
        return "multiple of 16"
    for name, neighbour in (("power of two + 1", size - 1), ("power of two - 1", size + 1)):
        if neighbour >= 4 and neighbour & (neighbour - 1) == 0:
            return name
    return "prime" if all(size % factor for factor in range(2, math.isqrt(size) + 1)) else "other"


def block_class(size: int, block: int) -> str:
    """Where the end of an axis of `size` elements falls in its last block.

    >>> block_class(17, 8), block_class(3, 8), block_class(1, 1)
    ('1', 'shorter than BLOCK', '0')
    """
    if size < block:
        return "shorter than BLOCK"
    return {block - 1: "BLOCK - 1", 1: "1", 0: "0"}.get(size % block, "between")  # of small blocks the simpler name


def program_class(programs: int) -> str:
    """The class of a number of programs.

    >>> program_class(4), program_class(17)
    ('2 to 4', 'more than 16')
    """
    if programs < 2:
        return str(programs)
    if programs <= 4:
        return "2 to 4"
    return "5 to 16" if programs <= 16 else "more than 16"
