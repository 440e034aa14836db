"""A small picture of a tensor: which elements are wrong or touched, and where its tiles end."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from conformance.failures import Finding
from conformance.report.calls import arguments
from conformance.report.tiles import is_flat, tile_shape

ROWS, COLUMNS = 16, 64  # what fits beside other text on a terminal of 80 columns


@dataclasses.dataclass(frozen=True)
class Picture:
    """A matrix of at most 16 x 64 cells, each standing for `bin` elements; the axes before the last are its rows.

    `marked` are the cells with an element that is wrong or touched, `row_lines` and `column_lines` the cells before
    which a tile begins. `mark` says in one word what a marked element is.
    """

    title: str
    rows: int
    columns: int
    bin: tuple[int, int]
    marked: frozenset[tuple[int, int]]
    row_lines: tuple[int, ...] = ()
    column_lines: tuple[int, ...] = ()
    mark: str = "wrong"
    cut: bool = False


def picture(finding: Finding) -> Picture | None:
    """The picture of the wrong output, or of the argument that events touched; None where no place is known."""
    value = finding.value
    if value is not None and value.wrong and 0 not in value.shape:
        tile = None if is_flat(finding.geometry, value.shape) else tile_shape(finding.geometry, value.shape)
        cut = len(value.wrong) < value.wrong_count
        return _draw(f"output {value.output}", value.shape, value.wrong, tile, "wrong", cut)
    shapes = {argument.name: argument.shape for argument in arguments(finding.call)}
    for event in finding.events:
        shape = shapes.get(event.argument)
        if event.index is None or not shape or len(shape) != len(event.index):
            continue
        inside = all(0 <= position < size for position, size in zip(event.index, shape, strict=True))
        if inside:
            return _draw(event.argument, shape, [_flat(event.index, shape)], None, "touched", event.count > 1)
    return None


def _flat(index: Sequence[int], shape: Sequence[int]) -> int:
    flat = 0
    for position, size in zip(index, shape, strict=True):
        flat = flat * size + position
    return flat


def _draw(
    name: str, shape: Sequence[int], flat: Iterable[int], tile: Sequence[int] | None, mark: str, cut: bool
) -> Picture:
    columns = shape[-1] if shape else 1
    rows = math.prod(shape[:-1])
    scale = (-(-rows // ROWS), -(-columns // COLUMNS))
    marked = frozenset((index // columns // scale[0], index % columns // scale[1]) for index in flat)
    row_lines = _lines(rows, scale[0], tile[-2]) if tile is not None and len(shape) > 1 else ()
    column_lines = _lines(columns, scale[1], tile[-1]) if tile is not None else ()
    title = f"{name} {' x '.join(map(str, shape)) or 'scalar'}"
    if row_lines or column_lines:
        title += f", tiles of {' x '.join(map(str, tile or ()))}"
    return Picture(
        title, -(-rows // scale[0]), -(-columns // scale[1]), scale, marked, row_lines, column_lines, mark, cut
    )


def _lines(size: int, scale: int, tile: int) -> tuple[int, ...]:
    """The cells before which a tile begins; none where tiles are so small that the lines would hide the picture."""
    if tile < 2 * scale or tile >= size:
        return ()
    return tuple(dict.fromkeys(start // scale for start in range(tile, size, tile)))


def draw_text(drawn: Picture) -> list[str]:
    """The picture as lines of text: `#` marked, `.` not, `|` and `-` where tiles meet."""
    each = "" if drawn.bin == (1, 1) else f", a character is {drawn.bin[0]} x {drawn.bin[1]} elements"
    cut = ", not all shown" if drawn.cut else ""
    lines = [f"{drawn.title} (# {drawn.mark}{cut}, . not{each})"]
    for row in range(drawn.rows):
        if row in drawn.row_lines:
            lines.append("  " + _text_row(["-"] * drawn.columns, drawn.column_lines, "+"))
        cells = ["#" if (row, column) in drawn.marked else "." for column in range(drawn.columns)]
        lines.append("  " + _text_row(cells, drawn.column_lines, "|"))
    return lines


def _text_row(cells: Sequence[str], lines: Sequence[int], line: str) -> str:
    return "".join(f"{line}{cell}" if column in lines else cell for column, cell in enumerate(cells))
