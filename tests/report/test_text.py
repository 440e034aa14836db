from __future__ import annotations

import dataclasses

import pytest
from report_samples import FINDINGS, call, evidence, finding
from snapshots import FOLDER, compare

from conformance.events import Kind
from conformance.failures import ConformanceFailure
from conformance.report import render
from conformance.report.explanations import ORACLES


@pytest.mark.parametrize("name", FINDINGS)
def test_the_text_of_each_kind_of_finding_is_as_kept(name: str) -> None:
    compare(name, render(FINDINGS[name]))


def test_every_oracle_has_a_finding_with_a_snapshot() -> None:
    assert {each.oracle for each in FINDINGS.values()} == set(ORACLES)


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(FINDINGS)


def test_every_failure_class_has_an_explanation() -> None:
    assert {each.oracle for each in ConformanceFailure.__subclasses__()} == set(ORACLES)


def test_lines_fit_a_terminal_unless_a_name_or_a_script_is_longer() -> None:
    for each in FINDINGS.values():
        lines = render(dataclasses.replace(each, script="")).splitlines()
        assert max(map(len, lines[1:])) <= 104


def test_many_events_are_cut() -> None:
    event = FINDINGS["bounds"].events[0]
    many = dataclasses.replace(
        FINDINGS["bounds"], events=tuple(dataclasses.replace(event, offset=i) for i in range(30))
    )
    assert "and 22 more events" in render(many)


def test_an_empty_output_and_an_unknown_geometry_render() -> None:
    text = render(
        finding("accuracy", "nothing", call=call(0, 0), value=evidence([(0, 0)], rows=0, columns=0), geometry=())
    )
    assert "of 0 elements" in text


def test_a_scalar_output_renders() -> None:
    scalar = dataclasses.replace(evidence([(0, 0)]), index=(), shape=())
    assert "output 0 scalar" in render(finding("accuracy", "wrong sum", value=scalar))


def test_every_kind_of_event_renders_by_its_name() -> None:
    event = FINDINGS["bounds"].events[0]
    for kind in Kind:
        text = render(dataclasses.replace(FINDINGS["bounds"], events=(dataclasses.replace(event, kind=kind),)))
        assert kind.value in text


def test_bounds_that_nine_digits_cannot_tell_apart_have_all_of_theirs() -> None:
    value = evidence([(0, 0)], exact=1 / 3, low=0.33333333333333326, high=0.33333333333333337)
    text = render(finding("accuracy", "wrong", value=value))
    assert "allowed  [0.33333333333333326, 0.33333333333333337]" in text
    assert "got      0.25" in text
