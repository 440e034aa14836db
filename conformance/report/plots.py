"""Plots as inline SVG: error ratio against size, its distribution, and the picture of a finding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from conformance.report.picture import Picture

WIDTH, HEIGHT = 320, 170
LEFT, BOTTOM, TOP, RIGHT = 42, 30, 10, 8
CEILING = 1.25  # ratios above are drawn at the top edge: beyond 1 it no longer matters how far
BINS = 20
CELL = 9  # pixels: large enough for a fingertip to find its row on a phone


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _frame(title: str, body: Iterable[str]) -> Markup:
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" class="plot">'
        f"<title>{escape(title)}</title>{''.join(body)}</svg>"
    )


def scatter(points: Sequence[tuple[int, float]], title: str) -> Markup:
    """The error ratio against the number of elements, on a logarithmic axis; the line at 1 is the bound.

    Ratios that are no number are drawn at the top edge, as every ratio above 1.25 is.
    """
    largest = max((size for size, _ in points), default=1)
    decades = max(1, math.ceil(math.log10(max(largest, 2))))
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(size: float) -> float:
        return LEFT + wide * math.log10(max(size, 1)) / decades

    def up(ratio: float) -> float:
        return TOP + high * (1 - min(ratio, CEILING) / CEILING)

    body = []
    for decade in range(decades + 1):
        label = "1" if decade == 0 else f"1e{decade}"
        body.append(f'<line x1="{across(10**decade):.1f}" x2="{across(10**decade):.1f}" y1="{TOP}" '
                    f'y2="{HEIGHT - BOTTOM}" class="grid"/>')  # fmt: skip
        body.append(_text(across(10**decade), HEIGHT - BOTTOM + 12, label))
    body += [_text(LEFT - 5, up(ratio) + 3, f"{ratio:g}", "end") for ratio in (0, 0.5, 1)]
    body.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(1):.1f}" y2="{up(1):.1f}" class="bound"/>')
    body.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(0):.1f}" y2="{up(0):.1f}" class="axis"/>')
    for size, ratio in points:
        shown = ratio if math.isfinite(ratio) else CEILING
        kind = "over" if not ratio <= 1 else "point"
        body.append(f'<circle cx="{across(size):.1f}" cy="{up(shown):.1f}" r="2.2" class="{kind}"/>')
    body.append(_text(LEFT + wide / 2, HEIGHT - 4, "elements of the output"))
    return _frame(title, body)


def histogram(points: Sequence[tuple[int, float]], title: str) -> Markup:
    """The distribution of the error ratio in 20 bins from 0 to 1.25; the last bin holds all that is above."""
    counts = [0] * BINS
    for _, ratio in points:
        inside = ratio if math.isfinite(ratio) else CEILING
        counts[min(BINS - 1, int(max(inside, 0.0) / CEILING * BINS))] += 1
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    largest = max(1, *counts)
    body = []
    for position, amount in enumerate(counts):
        tall = high * amount / largest
        kind = "over" if position * CEILING >= BINS else "bar"
        x = LEFT + wide * position / BINS
        body.append(f'<rect x="{x + 0.5:.1f}" y="{TOP + high - tall:.1f}" width="{wide / BINS - 1:.1f}" '
                    f'height="{tall:.1f}" class="{kind}"><title>{amount}</title></rect>')  # fmt: skip
    bound = LEFT + wide / CEILING
    body.append(f'<line x1="{bound:.1f}" x2="{bound:.1f}" y1="{TOP}" y2="{TOP + high}" class="bound"/>')
    body.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{TOP + high}" y2="{TOP + high}" class="axis"/>')
    body += [_text(LEFT + wide * ratio / CEILING, HEIGHT - BOTTOM + 12, f"{ratio:g}") for ratio in (0, 0.5, 1)]
    body.append(_text(LEFT - 5, TOP + 8, str(largest), "end"))
    body.append(_text(LEFT + wide / 2, HEIGHT - 4, "error / bound"))
    return _frame(title, body)


def tensor(drawn: Picture) -> Markup:
    """The picture of a tensor: a square for each cell, marked ones filled, lines where tiles meet."""
    wide, high = drawn.columns * CELL, drawn.rows * CELL
    body = [
        f'<rect x="{column * CELL}" y="{row * CELL}" width="{CELL - 1}" height="{CELL - 1}" '
        f'class="{"marked" if (row, column) in drawn.marked else "cell"}"/>'
        for row in range(drawn.rows)
        for column in range(drawn.columns)
    ]
    body += [f'<path d="M{x * CELL - 0.5} 0V{high}" class="tile"/>' for x in drawn.column_lines]
    body += [f'<path d="M0 {y * CELL - 0.5}H{wide}" class="tile"/>' for y in drawn.row_lines]
    return Markup(
        f'<svg viewBox="-1 -1 {wide + 1} {high + 1}" width="{wide + 2}" role="img" class="tensor" '
        f'aria-label="{escape(drawn.title)}"><title>{escape(drawn.title)}</title>{"".join(body)}</svg>'
    )
