from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_samples import call, reports

from conformance.events import Event, Kind, Site
from conformance.failures import Finding
from conformance.report import CaseResult, Report
from conformance.report.html import build

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path to open the report with")

# Appended to the page, since a headless browser prints the document after scripts ran: it uses the filters as a reader
# does and writes what is shown then, and every error, into the title.
PROBE = """
<script>
const errors = [];
window.addEventListener("error", event => errors.push(event.message));
function rows() { return document.querySelectorAll("#matrix-table tr.filtered:not([hidden])").length; }
function choose(id, value) {
  const element = document.getElementById(id);
  element.value = value;
  element.dispatchEvent(new Event(element.type === "search" ? "input" : "change"));
}
const seen = [rows()];
choose("filter-dtype", "float16"); seen.push(rows()); choose("filter-dtype", "");
choose("filter-status", "failed"); seen.push(rows()); choose("filter-status", "");
choose("filter-text", "cuda"); seen.push(rows()); seen.push(document.getElementById("shown").textContent);
choose("filter-text", "no such kernel"); seen.push(rows()); choose("filter-text", "");
seen.push(document.querySelectorAll("details.finding").length);
seen.push(document.documentElement.scrollWidth <= window.innerWidth ? "fits" : "too wide");
document.title = "seen " + seen.join(" ") + " errors " + errors.length;
</script>
"""


class Collector(HTMLParser):
    """Collects what a page would load, and whether its elements are closed in order."""

    VOID = ("meta", "link", "input", "br", "line", "circle", "rect", "path")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] in ("li", "p", "option") and self.open[-1] != tag:
            self.open.pop()
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_page_loads_nothing_and_is_well_formed() -> None:
    page = Collector()
    page.feed(build(reports()))
    assert page.open == []
    assert page.loaded == ["data:,"]


def test_what_kernels_are_called_and_say_cannot_break_the_page() -> None:
    name = '<script>alert("x")</script>'
    page = build([Report(name, name, "interpret", results=[CaseResult("float32", "launch", skipped=name)])])
    assert name not in page
    assert "&lt;script&gt;" in page


def test_holes_of_the_input_space_are_shown() -> None:
    page = build(reports())
    assert re.search(r'class="hole">transposed <span>0<', page)
    assert re.search(r"<li>padded <span>(100|200)<", page)


def test_a_fault_that_shows_in_two_dtypes_is_one_card() -> None:
    calls = [call(dtype=dtype) for dtype in ("float32", "float16")]
    findings = [Finding("crash", "it returns", "op", "kernel", "it raises", each) for each in calls]
    page = build([Report("op", "kernel", "interpret", findings=findings)])
    assert page.count('class="card filtered finding"') == 1
    assert "op / kernel in float32, float16" in page


def test_what_stands_in_backticks_is_code() -> None:
    event = Event(Kind.OUT_OF_BOUNDS_READ, "x", "read of 4 bytes <", site=Site("kernel.py", 3, "tl.load(x)"))
    finding = Finding("bounds", "in bounds", "op", "kernel", "x is read", {}, events=(event,))
    page = build([Report("op", "kernel", "interpret", findings=[finding])])
    assert "<code>other=</code> a neutral value" in page
    assert "3 | tl.load(x)" in page


def test_an_empty_run_makes_a_page() -> None:
    assert "No oracle objected" in build([])


def test_ratios_that_are_no_number_are_drawn() -> None:
    result = CaseResult(
        "float32", "launch", points=[(0, float("nan")), (5, float("inf")), (7, 0.5)], worst_ratio=float("inf")
    )
    assert build([Report("op", "kernel", "interpret", results=[result])]).count("<circle") == 3


def open_in_browser(page: str, folder: Path, width: int) -> str:
    """The document as it is after its scripts ran in a window of that width."""
    assert CHROMIUM is not None
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},900"]
    options += [f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--dump-dom", file.as_uri()]
    done = subprocess.run([CHROMIUM, *options], capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


@needs_chromium
@pytest.mark.parametrize("width", [500, 1200], ids=["phone", "desk"])
def test_a_browser_renders_it_filters_work_and_nothing_is_logged(width: int, tmp_path: Path) -> None:
    document = open_in_browser(build(reports()).replace("</body>", PROBE + "</body>"), tmp_path, width)
    title = re.search("<title>(seen [^<]*)</title>", document)
    assert title is not None
    # all rows; one kernel has float16; one is objected to; one name has cuda, twice; none; faults; no sideways scroll
    assert title.group(1) == "seen 4 1 1 1 1 0 2 fits errors 0"
