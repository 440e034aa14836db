from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from report_samples import reports

from conformance.cli import main
from conformance.report import CaseResult, Report, results_document
from conformance.report.documents import write_json
from conformance.report.markdown import build


def test_the_matrix_has_a_row_for_each_kernel_and_dtype_and_a_column_for_each_lane() -> None:
    lines = [line for line in build(reports()).splitlines() if line.startswith("| ")]
    header, rows = lines[0], lines[1:]
    for lane in ("launch", "layouts", "determinism", "batch_invariance", "exact", "worst ratio"):
        assert f"| {lane} " in header
    assert len(rows) == 4
    assert all(row.count(" | ") == header.count(" | ") for row in rows if "||" not in row)
    assert any("100 **objects**: bounds, accuracy" in row for row in rows)
    assert any("100 **expected**: layouts" in row for row in rows)


def test_versions_device_skips_and_findings_are_listed() -> None:
    text = build(reports())
    assert "## interpret: a CPU" in text
    assert "torch 2.13.0" in text
    assert "- 5 cases: no C++ compiler &lt;g++> on the path" in text
    assert "- **bounds** softmax / softmax_triton: x is read beyond its last element" in text


def test_runtimes_are_apart() -> None:
    gpu = Report("softmax", "k", "gpu", {"torch": "2.9"}, "NVIDIA H200", results=[CaseResult("float32", "launch", 5)])
    text = build([*reports(), gpu])
    assert text.index("## gpu: NVIDIA H200") < text.index("## interpret: a CPU")


def test_an_empty_run_makes_a_page() -> None:
    text = build([])
    assert "No oracle objected." in text
    assert "Nothing was skipped." in text


def test_what_a_kernel_is_called_cannot_break_the_table() -> None:
    text = build([Report("op", "a|b\n<b>", "interpret", results=[CaseResult("float32", "launch", 1)])])
    assert "a\\|b &lt;b>" in text


def test_the_command_writes_markdown_where_the_name_says_so(tmp_path: Path) -> None:
    results = write_json(tmp_path / "results.json", results_document(reports()))
    for name, first in (("page.md", "# Conformance results"), ("page.html", "<!doctype html>")):
        done = CliRunner().invoke(main, ["report", str(results), "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
        assert (tmp_path / name).read_text().lower().startswith(first.lower())
