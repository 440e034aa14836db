"""What is said of numbers that nobody should trust, and of errors that lean to one side."""

from __future__ import annotations

import torch

import strategies as kst
from conformance import Op, check
from conformance.report import Report, html, markdown
from conformance.report.records import CaseResult
from conformance.report.summary import summary_lines
from conformance.report.trust import Bias, leaning, mistrusted
from conformance.session import Session


def report(**fields: object) -> Report:
    result = CaseResult("float32", "launch", examples=200, undecided=0.0, points=[(8, 0.5)] * 200)
    for name, value in fields.items():
        setattr(result, name, value)
    return Report("softmax", "kernels.softmax", "interpret", results=[result])


def test_an_op_is_trusted_where_bounds_are_reached_and_data_are_decided() -> None:
    assert list(mistrusted([report()])) == []
    assert report().verdict == "no objection"


def test_a_bound_that_nothing_comes_near_is_mistrusted() -> None:
    wide = report(points=[(8, 5e-4)] * 200)
    (sentence,) = mistrusted([wide])
    assert sentence.startswith("softmax is mistrusted: the median error is 5.0e-04 of the bound")
    assert wide.verdict == "mistrusted"
    assert wide.ok
    assert "mistrusted" in summary_lines([wide])[-1]
    assert Session().exit_code(wide) == 1
    assert sentence in markdown.build([wide])
    assert "mistrusted</span>" in html.build([wide])


def test_results_without_an_error_say_nothing_of_the_bound() -> None:
    assert list(mistrusted([report(points=[(8, 0.0)] * 150 + [(8, 0.5)] * 50)])) == []


def test_data_that_mostly_overflow_are_mistrusted() -> None:
    (sentence,) = mistrusted([report(undecided=0.21)])
    assert "21% of the elements are undecided" in sentence
    assert list(mistrusted([report(undecided=0.19)])) == []


def test_kernels_and_dtypes_of_one_op_are_taken_together() -> None:
    assert list(mistrusted([report(undecided=0.3), report(undecided=0.05)])) == []


def test_a_few_launches_prove_nothing() -> None:
    assert list(mistrusted([report(examples=10, undecided=0.5)])) == []


def test_errors_that_lean_are_a_warning_and_no_failure() -> None:
    bias = Bias()
    for k in range(100):
        bias.add(-0.2 + 0.01 * (k % 3))
    leans = report(bias=bias)
    (sentence,) = leaning([leans])
    assert sentence.startswith("warning: kernels.softmax in float32: errors lean toward zero")
    assert leans.verdict == "no objection"
    even = Bias()
    for k in range(100):
        even.add((-1) ** k * 0.3)
    assert list(leaning([report(bias=even)])) == []


def test_a_bias_survives_the_results_file_and_shards() -> None:
    bias = Bias(3, 0.5, 0.25)
    one = Report.from_json(report(bias=bias).to_json())
    assert one.results[0].bias == bias
    (merged,) = Report.merge([one, report(bias=Bias(1, 0.5, 0.25))])
    assert merged.results[0].bias == Bias(4, 1.0, 0.5)


def test_truncation_leans_where_each_element_is_inside() -> None:
    op = Op(torch.exp, {"x": kst.tensors("rows", "cols", dtypes=(torch.float32,))}, name="exp")

    def toward_zero(x: torch.Tensor) -> torch.Tensor:
        exact = x.double().exp()
        near = exact.float()
        above = (near.double() > exact) & near.isfinite()
        return torch.where(above, torch.nextafter(near, torch.zeros_like(near)), near)

    checked = check(toward_zero, op, oracles=["launch"], examples=300)
    assert checked.ok
    assert any("toward zero" in sentence for sentence in leaning([checked]))
    assert not any(leaning([check(op.reference, op, oracles=["launch"], examples=300)]))
