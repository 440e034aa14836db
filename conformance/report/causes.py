"""Likely causes in words, from the places of the wrong elements and the kinds of event: pure functions."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

from conformance.events import Event, Kind
from conformance.failures import Finding, ValueEvidence
from conformance.report.calls import arguments
from conformance.report.tiles import tile_shape

MOST = 3  # more guesses than that are no help

EVENTS: dict[Kind, str] = {
    Kind.OUT_OF_BOUNDS_READ: "a load without a mask, or with a mask that is too wide: compare every offset with the "
    "size of the axis, and give `other=` a neutral value",
    Kind.OUT_OF_BOUNDS_WRITE: "a store without a mask, or with a mask that is too wide: compare every offset with the "
    "size of the axis that it runs over",
    Kind.GAP_READ: "the kernel walks memory as if the tensor were contiguous: pass its strides and use them, or refuse "
    "such layouts",
    Kind.GAP_WRITE: "the kernel stores as if the output were contiguous: use the strides of the output, not those of "
    "the input",
    Kind.ARRAY_INDEX: "a loop over an array of the thread's own runs too far, or the index comes from a larger range: "
    "compare its bound with the declared length",
    Kind.WILD_POINTER: "an offset far outside every tensor: a wrong argument order, a stride taken for a size, or an "
    "offset that wrapped",
    Kind.ILLEGAL_ADDRESS: "a missing or too wide mask, or an offset outside every tensor: run the test with "
    "`--compute-sanitizer memcheck`, or on the CPU, where the interpreter names the line",
    Kind.ACCESS_WIDTH: "pointer and value differ in width: the pointer was cast, or the launcher passed a tensor of "
    "another dtype",
    Kind.MISREAD: "the launcher gives an argument another type than its parameter has: CuPy goes by the Python type: "
    "give numpy.float32(s) for a float and numpy.int32(n) for an int; an array has the dtype of its pointer",
    Kind.MISALIGNED: "a vector access to an address that is not a multiple of its width: test the alignment of pointer "
    "and row stride, and fall back to scalar accesses",
    Kind.INPUT_WRITE: "the kernel writes to an argument that the op does not declare with `mutates=`: pointers in the "
    "wrong order, or work done in place on the caller's data",
    Kind.UNINITIALIZED_READ: "memory from `torch.empty` is read before it is written: start accumulators with "
    "`torch.zeros`, or write before reading",
    Kind.UNWRITTEN: "the grid has too few programs, the mask is too tight, or an early return leaves part of the "
    "output as it was allocated",
    Kind.WRITE_CONFLICT: "two programs own one element: too many programs, a tile computed with the wrong block size, "
    "or a partial sum stored where it must be added atomically",
    Kind.LANE_CONFLICT: "two lanes of one program store to one element: offsets that wrap round (`% n`) need a mask on "
    "the store",
    Kind.READ_AFTER_WRITE: "a program reads what another one writes, and nothing orders programs: split the kernel in "
    "two launches, or use atomics",
    Kind.WRITE_AFTER_READ: "a program overwrites what another one still reads, and nothing orders programs: write to a "
    "tensor of its own",
    Kind.DATA_RACE: "threads exchange data through shared memory without a barrier: `__syncthreads()` is missing "
    "before the read, or before the next iteration overwrites",
    Kind.BARRIER_DIVERGENCE: "`__syncthreads()` under a condition that not all threads of the block meet: move it out "
    "of the branch or loop",
    Kind.DEADLOCK: "threads wait for a barrier or a flag that the others never reach",
    Kind.WARP: "a warp operation whose mask names lanes that do not take part: compute the mask with `__ballot_sync` "
    "before the branch, or let all lanes take part",
    Kind.OVERFLOW: "an offset is computed in 32 bits: cast the program id or the stride to `tl.int64` (`size_t` in "
    "CUDA) before the multiplication",
    Kind.GRID_LIMIT: "the second and third grid dimension end at 65,535: put the long axis first, or loop in the "
    "kernel",
    Kind.DEVICE_ASSERT: "an assertion of the kernel itself failed",
    Kind.REJECTED: "the kernel runs here but does not compile for a GPU: read the compiler's message above",
}


@dataclasses.dataclass(frozen=True)
class Pattern:
    """The wrong elements of an output seen as a matrix: the axes before the last are its rows."""

    rows: int
    columns: int
    wrong: frozenset[tuple[int, int]]
    block: int | None = None  # elements of one tile along the last axis

    @classmethod
    def of(cls, value: ValueEvidence, block: int | None = None) -> Pattern:
        """The pattern of the wrong elements that the evidence lists."""
        columns = value.shape[-1] if value.shape else 1
        rows = math.prod(value.shape[:-1])
        return cls(rows, columns, frozenset(divmod(flat, max(columns, 1)) for flat in value.wrong), block)

    @property
    def all_wrong(self) -> bool:
        """Whether every element, of more than one, is wrong."""
        return len(self.wrong) == self.rows * self.columns > 1


def likely_causes(finding: Finding) -> list[str]:
    """At most three sentences on what is probably wrong with the kernel, the surest first; empty where nothing fits."""
    causes = [*of_events(finding.events)]
    if finding.value is not None:
        tile = tile_shape(finding.geometry, finding.value.shape)
        causes += of_value(finding.value)
        if len(finding.value.wrong) == finding.value.wrong_count:  # a cut list shows a pattern that is not there
            causes += of_pattern(Pattern.of(finding.value, tile[-1] if tile else None))
    if not finding.events and finding.oracle in ("accuracy", "layouts", "exact"):
        causes += of_layouts(argument.layout for argument in arguments(finding.call))
    return list(dict.fromkeys(causes))[:MOST]


def of_events(events: Sequence[Event]) -> list[str]:
    """A cause for each kind of event that has one."""
    return [EVENTS[kind] for kind in dict.fromkeys(event.kind for event in events) if kind in EVENTS]


def of_value(value: ValueEvidence) -> list[str]:
    """Causes that the worst element tells by itself: poison, zero, twice or half of what it should be."""
    if math.isnan(value.got) and not math.isnan(value.exact):
        return [_poison(value)]
    if not math.isfinite(value.exact) or value.exact == 0:
        return []
    if value.got == 0:
        zeros = "the whole output is wrong and the worst element is 0" if _everything(value) else "the element is 0"
        return [
            f"{zeros}: nothing was stored, the result was multiplied by an empty mask, or the sum was never added to"
        ]
    if _inside(value, 2.0):
        return ["the value is twice the exact one: a tile or an element is counted twice"]
    if _inside(value, 0.5):
        return ["the value is half the exact one: a part of the reduction is left out, or a factor of 2 is missing"]
    if _inside(value, -1.0):
        return ["the value has the wrong sign and the right size"]
    return []


def _poison(value: ValueEvidence) -> str:
    column = value.index[-1] if value.index else 0
    size = value.shape[-1] if value.shape else 1
    columns = sorted({flat % size for flat in value.wrong}) if size else []
    if (
        columns
        and len(value.wrong) == value.wrong_count
        and columns == list(range(columns[0], size))
        and columns[0] > 0
    ):
        return (
            f"NaN from column {columns[0]} on, where the exact value is finite: NaN is the poison of memory that "
            "nobody wrote, so these columns were not stored, or were computed from addresses beyond the tensor"
        )
    return (
        f"NaN in column {column}, where the exact value is finite: NaN is the poison of memory that nobody wrote, so "
        "an address outside the tensor was read (or the element was never stored); else inf - inf or 0 / 0 on the way"
    )


def _inside(value: ValueEvidence, factor: float) -> bool:
    low, high = sorted((value.low * factor, value.high * factor))
    return low <= value.got <= high and not value.low <= value.got <= value.high


def _everything(value: ValueEvidence) -> bool:
    return value.wrong_count == math.prod(value.shape)


def of_pattern(pattern: Pattern) -> list[str]:
    """Causes that the places of the wrong elements tell."""
    if not pattern.wrong or pattern.all_wrong:
        return []
    rules = (edge_column, last_tile, first_tile, only_row_0_right, every_kth_row, diagonal)  # the most specific first
    found = [rule(pattern) for rule in rules]
    return [cause for cause in found if cause is not None][:1]


def last_tile(pattern: Pattern) -> str | None:
    """The cause where only elements of the last, incomplete tile of a row are wrong."""
    block, columns = pattern.block, pattern.columns
    if block is None or columns <= block or columns % block == 0:
        return None
    start = columns // block * block
    if all(column >= start for _, column in pattern.wrong):
        return (
            f"only the last tile is wrong (columns {start} to {columns - 1}; {columns} is no multiple of {block}): the "
            "mask of the last tile, or its `other=` value"
        )
    return None


def first_tile(pattern: Pattern) -> str | None:
    """The cause where everything after the first tile of a row is wrong."""
    block = pattern.block
    if block is None or pattern.columns <= block:
        return None
    wrong_columns = {column for _, column in pattern.wrong}
    if wrong_columns == set(range(block, pattern.columns)):
        return (
            f"everything after the first tile of {block} columns is wrong: the loop over tiles ends too early, or its "
            "pointers are not advanced"
        )
    return None


def only_row_0_right(pattern: Pattern) -> str | None:
    """The cause where row 0 is right and rows after it are not."""
    rows = _rows(pattern)
    if pattern.rows > 1 and rows == set(range(1, pattern.rows)):
        return "only row 0 is right: the row stride is wrong, as when the number of columns is taken for it"
    return None


def every_kth_row(pattern: Pattern) -> str | None:
    """The cause where the wrong rows are a regular series."""
    rows = sorted(_rows(pattern))
    steps = {after - before for before, after in itertools.pairwise(rows)}
    if len(rows) >= 3 and len(steps) == 1 and steps != {1}:
        step = steps.pop()
        return (
            f"one row in {step} is wrong, from row {rows[0]}: a stride or a number of rows per program that does not "
            "divide the rows"
        )
    return None


def edge_column(pattern: Pattern) -> str | None:
    """The cause where a single column at an end of the rows is wrong."""
    columns = {column for _, column in pattern.wrong}
    if pattern.block is not None and pattern.columns % pattern.block == 1:
        return None  # the last column is the whole last tile
    if pattern.columns > 1 and columns == {pattern.columns - 1}:
        return "only the last column is wrong: off by one in the mask or in the number of columns"
    if pattern.columns > 1 and columns == {0}:
        return "only the first column is wrong: off by one at the start of the range"
    return None


def diagonal(pattern: Pattern) -> str | None:
    """The cause where the diagonal and the rest of a square differ."""
    square = pattern.rows == pattern.columns > 1
    on_diagonal = {(i, i) for i in range(pattern.columns)}
    if square and pattern.wrong == on_diagonal:
        return "only the diagonal is wrong: `<` and `<=` of a causal mask, or an exchanged pair of indices"
    if square and len(pattern.wrong) == pattern.rows * (pattern.columns - 1) and not pattern.wrong & on_diagonal:
        return "only the diagonal is right: two axes, or two strides, are exchanged"
    return None


def _rows(pattern: Pattern) -> set[int]:
    """The rows in which an element is wrong."""
    return {row for row, _ in pattern.wrong}


def of_layouts(layouts: Iterable[str | None]) -> list[str]:
    """The cause where values are wrong and an argument is not contiguous."""
    special = sorted({layout for layout in layouts if layout not in (None, "contiguous")})
    if not special:
        return []
    return [f"an argument is {', '.join(special)}: the kernel may compute addresses as for a contiguous tensor"]
