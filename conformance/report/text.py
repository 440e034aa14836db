"""A finding as text, for the terminal: the one renderer that pytest, the command line and logs share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from conformance.events import Event, Site
from conformance.failures import Finding, ValueEvidence
from conformance.report.calls import arguments
from conformance.report.causes import likely_causes
from conformance.report.picture import draw_text, picture
from conformance.report.tiles import is_flat, place, tile_shape

WIDTH = 100
MOST_EVENTS = 8
MOST_IDS = 4


def render(finding: Finding) -> str:
    """The finding as plain text of several lines.

    In this order, each part only where something is known: the law that was broken and by whom, what happened, where in
    the kernel's source, the minimal call, a picture of the tensor, the worst element with the interval it may lie in,
    the likely cause, and a program that reproduces the launch.
    """
    parts = [
        _head(finding),
        _section("What happened", _events(finding)),
        _section("Minimal call", _call(finding)),
        _section("Picture", _picture(finding)),
        _section("Worst element", _worst(finding)),
        _section("Likely cause", iter(likely_causes(finding))),
        _section("Notes", iter(finding.notes)),
        _script(finding),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(finding: Finding) -> str:
    runtime = f" [{finding.runtime}]" if finding.runtime else ""
    law = textwrap.wrap(finding.law, WIDTH - 10) or [""]
    lines = [
        f"{finding.op} / {finding.kernel}{runtime}: {finding.summary}",
        f"  oracle  {finding.oracle}",
        f"  law     {law[0]}",
        *(f"          {line}" for line in law[1:]),
    ]
    return "\n".join(lines)


def _section(title: str, lines: Iterator[str]) -> str:
    body = [textwrap.indent(part, "  ") for text in lines for line in text.splitlines() for part in _wrap(line)]
    return "\n".join([title, *body]) if body else ""


def _wrap(line: str) -> list[str]:
    """The line as lines of at most 100 columns; spaces and long words, which pictures and paths have, are kept."""
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())] + "  "
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def _events(finding: Finding) -> Iterator[str]:
    for event in finding.events[:MOST_EVENTS]:
        yield from _event(event)
    if len(finding.events) > MOST_EVENTS:
        yield f"and {len(finding.events) - MOST_EVENTS} more events"


def _event(event: Event) -> Iterator[str]:
    yield f"{event.kind.value}: {event.argument}: {event.detail}"
    if event.site is not None:
        yield from _site("at", event.site, event.kernel)
    if event.other_site is not None:
        yield from _site("against", event.other_site, "")
    facts = []
    if event.index is not None:
        facts.append(f"element {event.index}")
    if event.offset is not None:
        facts.append(f"byte {event.offset:+d} from the first element")
    if event.count > 1:
        facts.append(f"{event.count} accesses")
    if event.programs:
        facts.append(_ids("program", event.programs))
    if event.threads:
        facts.append(_ids("thread", event.threads))
    if facts:
        yield "  " + ", ".join(facts)


def _site(word: str, site: Site, kernel: str) -> Iterator[str]:
    yield f"  {word} {site}" + (f" in {kernel}" if kernel else "")
    if site.source:
        yield f"    {site.line} | {site.source.strip()}"


def _ids(word: str, ids: tuple[tuple[int, int, int], ...]) -> str:
    more = f" and {len(ids) - MOST_IDS} more" if len(ids) > MOST_IDS else ""
    plural = "s" if len(ids) > 1 else ""
    return f"{word}{plural} {' '.join(map(str, ids[:MOST_IDS]))}{more}"


def _call(finding: Finding) -> Iterator[str]:
    shown = arguments(finding.call)
    width = max((len(argument.name) for argument in shown), default=0)
    for argument in shown:
        yield f"{argument.name:<{width}}  {argument.text}"
    for geometry in finding.geometry:
        block = f" block {geometry.block}" if geometry.block else ""
        meta = "".join(f" {name}={value}" for name, value in geometry.meta)
        yield f"launches {geometry.kernel} grid {geometry.grid}{block}{meta}"


def _picture(finding: Finding) -> Iterator[str]:
    drawn = picture(finding)
    if drawn is not None:
        yield from draw_text(drawn)


def _worst(finding: Finding) -> Iterator[str]:
    value = finding.value
    if value is None:
        return
    of = math.prod(value.shape)
    got, exact, low, high = _numbers(value.got, value.exact, value.low, value.high)
    yield f"index    {value.index} of output {value.output}{_tile(finding, value)}"
    yield f"got      {got}"
    yield f"exact    {exact}"
    yield f"allowed  [{low}, {high}]" + (" (heuristic bound)" if value.heuristic else "")
    yield f"error    {_error(value)}"
    yield f"wrong    {value.wrong_count} of {of} elements"


def _tile(finding: Finding, value: ValueEvidence) -> str:
    tile = tile_shape(finding.geometry, value.shape)
    if tile is None or is_flat(finding.geometry, value.shape):
        return ""
    return f", {place(value.index, tile)}"


def _numbers(*values: float) -> list[str]:
    """The numbers with the nine digits that tell any two float32 values apart, or with all where those do not."""
    short = [f"{value:.9g}" for value in values]
    finite = {value for value in values if math.isfinite(value)}
    same = len({float(f"{value:.9g}") for value in finite}) < len(finite)
    return [repr(value) for value in values] if same else short


def _error(value: ValueEvidence) -> str:
    if math.isfinite(value.ratio):
        ulp = f" ({value.ulp:.3g} ulp of {value.dtype})" if math.isfinite(value.ulp) else ""
        return f"{value.ratio:.3g} of bound{ulp}"
    return f"another class of value than the exact one ({value.dtype})"


def _script(finding: Finding) -> str:
    if not finding.script.strip():
        return ""
    return f"Reproduce (no Hypothesis needed)\n\n{finding.script.strip()}"
