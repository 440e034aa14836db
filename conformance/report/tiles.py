"""The tile grid of an output, read from the meta-parameters of the launch."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from conformance.observation import Geometry

# BLOCK_M is the convention of Triton's tutorials for rows, BLOCK_N for columns; the rest are names that libraries use.
ROWS = ("BLOCK_M", "BLOCK_SIZE_M", "BM", "BLOCK_ROWS", "TILE_M")
COLUMNS = ("BLOCK_N", "BLOCK_SIZE_N", "BN", "BLOCK_COLS", "TILE_N")
ONLY = ("BLOCK", "BLOCK_SIZE", "BLOCK_D", "TILE", "XBLOCK")


def tile_shape(geometry: Sequence[Geometry], shape: Sequence[int]) -> tuple[int, ...] | None:
    """The sizes of one tile along the axes of an output of this shape, None where no meta-parameter tells.

    A kernel with a single block size works on the last axis; axes before it are one element to a tile.

    >>> tile_shape([Geometry("softmax", (3, 1, 1), meta=(("BLOCK", 8),))], (3, 20))
    (1, 8)
    """
    if not shape or not geometry:
        return None
    return of_block(block_of(geometry[-1]), len(shape))


def block_of(launch: Geometry) -> tuple[int | None, int | None]:
    """The rows and columns of a block, None where no meta-parameter tells."""
    # by the numbers alone: other meta-parameters need not be hashable
    return _block(tuple([(name, value) for name, value in launch.meta if isinstance(value, int) and value > 0]))


@functools.lru_cache(maxsize=256)
def _block(numbers: tuple[tuple[str, int], ...]) -> tuple[int | None, int | None]:
    meta = {name.upper(): value for name, value in numbers}
    rows = next((meta[name] for name in ROWS if name in meta), None)
    return rows, next((meta[name] for name in (*COLUMNS, *ONLY) if name in meta), None)


def of_block(block: tuple[int | None, int | None], rank: int) -> tuple[int, ...] | None:
    """The sizes of a tile of such a block along `rank` axes, None where the block does not tell."""
    rows, columns = block
    if columns is None or (rows is not None and rank < 2):
        return None
    return (*[1] * (rank - 2), rows or 1, columns)[-rank:]


def is_flat(geometry: Sequence[Geometry], shape: Sequence[int]) -> bool:
    """Whether programs take BLOCK elements each of the whole output as one run, as an elementwise kernel does.

    The grid tells: as many programs as blocks in all elements, and not one for each row.
    """
    tile = tile_shape(geometry, shape)
    if tile is None or len(shape) < 2 or any(size != 1 for size in tile[:-1]):
        return False
    programs = math.prod(geometry[-1].grid)
    return programs == -(-math.prod(shape) // tile[-1]) and programs != math.prod(shape[:-1])


def place(index: Sequence[int], tile: Sequence[int]) -> str:
    """The tile of an element, and its place there, in words.

    >>> place((1, 8), (1, 8))
    'tile (1, 1), its first column'
    >>> place((1, 11), (1, 8))
    'tile (1, 1), at (0, 3) in it'
    """
    coordinates = tuple(position // size for position, size in zip(index, tile, strict=True))
    inside = tuple(position % size for position, size in zip(index, tile, strict=True))
    if tile[-1] > 1 and not any(inside[:-1]) and inside[-1] in (0, tile[-1] - 1):
        end = "first" if inside[-1] == 0 else "last"
        return f"tile {coordinates}, its {end} column"
    return f"tile {coordinates}, at {inside} in it"
