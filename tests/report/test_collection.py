from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from report_samples import FINDINGS, reports

from conformance.report import CaseResult, collection, read_results
from conformance.report.encoding import encode


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection of its own, so that the session's results stay what they are."""
    monkeypatch.setattr(collection, "_reports", [])
    monkeypatch.setattr(collection, "_handed", 0)


def outcome(oracle: str) -> Any:
    """What the core gives for a case."""
    return SimpleNamespace(
        result=CaseResult("float32", oracle, examples=5, objections=[oracle]),
        findings=[FINDINGS[oracle]],
        interrupted=False,
    )


TRIAL: Any = SimpleNamespace(op=SimpleNamespace(name="softmax"), name="kernels.softmax")


@pytest.mark.usefixtures("empty")
def test_cases_of_one_kernel_make_one_report() -> None:
    collection.add(TRIAL, 7, outcome("bounds"))
    collection.add(TRIAL, 7, outcome("races"))
    (report,) = collection.reports()
    assert [result.oracle for result in report.results] == ["bounds", "races"]
    assert report.versions["torch"] == torch.__version__


@pytest.mark.usefixtures("empty")
def test_what_a_worker_sends_arrives_as_it_was() -> None:
    collection.add(TRIAL, 7, outcome("bounds"))
    sent = [report.to_json() for report in collection.reports()]
    text = collection.to_text(collection.fresh())
    collection.clear()
    collection.take(text)
    assert [report.to_json() for report in collection.reports()] == sent


@pytest.mark.usefixtures("empty")
def test_each_report_is_fresh_once() -> None:
    collection.add(TRIAL, 7, outcome("bounds"))
    assert len(collection.fresh()) == 1
    collection.add(TRIAL, 7, outcome("races"))
    (report,) = collection.fresh()
    assert [result.oracle for result in report.results] == ["races"]
    assert collection.fresh() == []


@pytest.mark.usefixtures("empty")
def test_the_results_file_holds_what_was_collected(tmp_path: Path) -> None:
    collection.add(TRIAL, 7, outcome("bounds"))
    collection.write(str(tmp_path / "results.json"), reports())
    assert len(read_results(tmp_path / "results.json")) == 4


def test_json_values_are_of_plain_types() -> None:
    assert type(encode(torch.__version__)) is str
    assert json.loads(json.dumps(encode({"x": (1, None, True, float("nan"))}))) == {"x": [1, None, True, "nan"]}
