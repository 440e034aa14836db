from __future__ import annotations

import dataclasses
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest
from report_samples import FINDINGS, finding, reports

from conformance.observation import Geometry
from conformance.report import CaseResult, Report, load_finding, read_results, render, results_document, save_finding
from conformance.report.documents import schema, write_json
from conformance.report.encoding import encode
from conformance.report.records import MAX_POINTS, thin


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_field_of_a_record_is_in_the_schema() -> None:
    definitions = schema()["$defs"]
    assert set(definitions["report"]["properties"]) == {field.name for field in dataclasses.fields(Report)}
    assert set(definitions["result"]["properties"]) == {field.name for field in dataclasses.fields(CaseResult)}
    sample = encode(FINDINGS["races"])
    assert set(definitions["finding"]["properties"]) == set(sample)
    assert set(definitions["event"]["properties"]) == set(sample["events"][0])
    assert set(definitions["value"]["properties"]) == set(encode(FINDINGS["accuracy_zero"])["value"])
    assert set(definitions["geometry"]["properties"]) == set(sample["geometry"][0])


def test_results_follow_the_schema_and_survive_a_round_trip(tmp_path: Path) -> None:
    path = write_json(tmp_path / "results.json", results_document(reports()))
    jsonschema.validate(json.loads(path.read_text()), schema())
    assert [report.to_json() for report in read_results(path)] == [report.to_json() for report in reports()]


@pytest.mark.parametrize("name", FINDINGS)
def test_a_saved_finding_renders_as_the_one_that_was_saved(name: str, tmp_path: Path) -> None:
    path = save_finding(FINDINGS[name], tmp_path)
    jsonschema.validate(json.loads(path.read_text()), schema())
    assert render(load_finding(path)) == render(FINDINGS[name])


def test_equal_findings_share_a_file_and_others_do_not(tmp_path: Path) -> None:
    assert save_finding(FINDINGS["bounds"], tmp_path) == save_finding(FINDINGS["bounds"], tmp_path)
    assert save_finding(FINDINGS["bounds_gap"], tmp_path) != save_finding(FINDINGS["bounds"], tmp_path)


def test_the_name_of_a_finding_is_a_file_name_whatever_the_kernel_is_called(tmp_path: Path) -> None:
    path = save_finding(finding("bounds", "x", kernel="../evil/<lambda> kernel"), tmp_path)
    assert path.parent == tmp_path
    assert path.name.startswith("softmax-evil_lambda_kernel-bounds-")


def test_workers_that_write_one_file_leave_a_whole_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: save_finding(FINDINGS["races"], tmp_path), range(40)))
    assert load_finding(paths[0]) == load_finding(paths[-1])
    assert [each.name for each in tmp_path.iterdir()] == [paths[0].name]


def test_a_device_is_written_to_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    write_json(tmp_path / "null", {})
    assert (tmp_path / "null").is_symlink()
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError, match="No space"):
        write_json("/dev/full", {})
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_json(tmp_path / "link.json", {})
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == {}


def test_a_pipe_gets_the_document(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        text = pool.submit((tmp_path / "pipe").read_text)
        write_json(tmp_path / "pipe", {"number": 1})
        assert json.loads(text.result(timeout=20)) == {"number": 1}
    assert (tmp_path / "pipe").is_fifo()


def test_nothing_is_left_where_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "x.json", {"number": math.nan})
    assert list(tmp_path.iterdir()) == []


def test_a_meta_parameter_that_json_lacks_is_kept_as_text() -> None:
    assert encode(Geometry("k", (1, 1, 1), (), (("ACC", len),)))["meta"] == [["ACC", "<built-in function len>"]]


def test_what_has_no_json_form_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="set has no JSON form"):
        encode({"x": {1, 2}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON file"),
        ("[]", "is not a results file"),
        ('{"schema": 1, "finding": {}}', "is not a results file"),
        ('{"schema": 7, "reports": []}', "written in schema 7"),
        ('{"schema": 1, "reports": [{"op": 3}]}', "does not follow the schema at"),
    ],
)
def test_a_file_that_holds_no_results_is_refused_with_the_reason(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_results(path)


def test_shards_add_up() -> None:
    first, second = reports()[0], reports()[0]
    (merged,) = Report.merge([first, second])
    assert merged.examples == 2 * first.examples
    assert merged.results[0].coverage["axis size"]["1"] == 40
    assert merged.results[0].worst_ratio == first.results[0].worst_ratio
    assert len(Report.merge([*reports(), *reports()])) == 3


def test_merging_changes_none_of_the_merged() -> None:
    kept = reports()
    before = [report.to_json() for report in kept]
    Report.merge([*kept, *kept])
    assert [report.to_json() for report in kept] == before


def test_a_skip_in_one_shard_is_no_skip_of_all() -> None:
    skipped, ran = CaseResult("float32", "launch", skipped="no device"), CaseResult("float32", "launch", examples=3)
    for order in ([skipped, ran], [ran, skipped]):
        (merged,) = Report.merge(Report("op", "k", "gpu", results=[result]) for result in order)
        assert merged.results[0].status == "passed"


def test_a_report_is_ok_unless_an_objection_was_not_expected() -> None:
    right, wrong, idle = reports()
    assert (right.verdict, wrong.verdict, idle.verdict) == ("no objection", "objected to", "nothing ran")
    expected = CaseResult("float32", "layouts", objections=["layouts"], xfail="issue 12")
    assert Report("op", "k", "interpret", results=[expected], findings=[FINDINGS["layouts"]]).ok
    assert not Report("op", "k", "interpret", findings=[FINDINGS["bounds"]]).ok


def test_thinned_points_keep_the_largest_ratio() -> None:
    points = [(n, n / 10_000) for n in range(10_000)]
    kept = thin(points)
    assert len(kept) == MAX_POINTS
    assert max(ratio for _, ratio in kept) == points[-1][1]
