from __future__ import annotations

from report_samples import reports

from conformance.report import CaseResult, Report
from conformance.report.summary import header_line, summary_lines


def test_the_summary_has_a_row_for_each_kernel_and_dtype_that_ran() -> None:
    lines = summary_lines(reports())
    assert lines[0].split() == ["op", "kernel", "dtype", "examples", "worst", "ratio", "undecided", "objections"]
    assert [line.split()[1:4] for line in lines[1:4]] == [
        ["softmax_right", "float16", "500"],
        ["softmax_right", "float32", "500"],
        ["softmax_triton", "float32", "200"],
    ]
    assert lines[3].endswith("accuracy, bounds, layouts")


def test_skips_are_counted_by_reason() -> None:
    assert "skipped 5: no C++ compiler <g++> on the path" in summary_lines(reports())


def test_the_last_line_is_the_verdict() -> None:
    assert summary_lines(reports())[-1] == "1,200 examples over 3 kernels: 3 findings, 1 of 3 kernels objected to"
    assert summary_lines(reports()[:1])[-1] == "1,000 examples over 1 kernel: no objection"


def test_a_run_in_which_nothing_ran_is_no_success() -> None:
    lines = summary_lines(reports()[2:])
    assert lines[-2:] == [
        "nothing ran for 1 of 1 kernel: every test id was skipped",
        "0 examples over 1 kernel: nothing was judged",
    ]


def test_an_interrupt_and_rejected_draws_are_said() -> None:
    report = Report("op", "k", "interpret", results=[CaseResult("any", "launch", 3, rejected=2)], interrupted=True)
    text = "\n".join(summary_lines([report]))
    assert "interrupted" in text
    assert "2 rejected draws" in text


def test_nothing_is_printed_where_nothing_was_collected() -> None:
    assert summary_lines([]) == []


def test_the_header_names_what_is_missing() -> None:
    versions = {"runtime": "interpret", "torch": "2.13.0", "triton": "3.9.0", "device": "cpu"}
    assert header_line(versions) == "conformance: runtime interpret, torch 2.13.0, triton 3.9.0, cupy none, device cpu"
