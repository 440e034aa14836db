from __future__ import annotations

import json

import pytest

from conformance.bench import gpu_faults

SUBJECTS = list(gpu_faults.subjects())
BY_NAME = {subject.name: (index, subject) for index, subject in enumerate(SUBJECTS)}


@pytest.fixture(scope="module")
def jury():
    jury = gpu_faults.Jury(0, 40)
    yield jury
    jury.close()


@pytest.mark.parametrize("name", ["gpu_host_segfault float32", "gpu_read_past_end float16", "vector_add float32"])
def test_subjects_are_judged_in_another_process(name, jury):
    index, subject = BY_NAME[name]
    record = jury.judge(index, subject)
    assert gpu_faults.verdict(subject, record) == "ok"
    assert record["name"] == name
    assert name in gpu_faults.row(subject, record)


def test_a_subject_that_takes_too_long_is_lost_and_the_next_one_judged(jury):
    index, subject = BY_NAME["gpu_host_segfault float32"]
    assert gpu_faults.verdict(subject, jury.judge(index, subject, seconds=0.05)) == "LOST: not done after 0.05 s"
    assert gpu_faults.verdict(subject, jury.judge(index, subject)) == "ok"


def test_a_missed_fault_a_false_alarm_and_a_lost_subject_are_told_apart():
    fault, correct = BY_NAME["gpu_wild_pointer float32"][1], BY_NAME["softmax float32"][1]
    found = {"found": {"bounds": {"summary": "s", "shapes": [[1]], "notes": []}}}
    assert gpu_faults.verdict(fault, {"found": {}}).startswith("MISSED")
    assert gpu_faults.verdict(correct, found).startswith("FALSE ALARM")
    assert gpu_faults.verdict(correct, {"error": "status -9"}).startswith("LOST")
    assert gpu_faults.verdict(fault, found) == gpu_faults.verdict(correct, {"found": {}}) == "ok"


class Interrupted:
    """A jury that judges one subject and is interrupted in the next."""

    def __init__(self, number, examples):
        self.number = number

    def judge(self, index, subject):
        if index:
            raise KeyboardInterrupt
        return {"name": subject.name, "found": {}, "examples": 3, "processes": 1, "seconds": 0.1}

    def close(self):
        self.number = None


def test_an_interrupt_keeps_what_was_found_and_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu_faults, "Jury", Interrupted)
    monkeypatch.setattr(gpu_faults, "at_once", lambda: 1)
    monkeypatch.setattr(gpu_faults, "subjects", lambda: SUBJECTS[-3:])
    page, records = tmp_path / "page.md", tmp_path / "records.json"
    page.write_text("# Run\n\n<!-- begin:faults -->\nold\n<!-- end:faults -->\n\nAfter.\n")
    assert gpu_faults.main(["--json", str(records), "--write", str(page)]) == 130
    assert [record["verdict"] for record in json.loads(records.read_text())] == ["ok"]
    text = page.read_text()
    assert "2 subjects were not judged" in text
    assert text.startswith("# Run\n")
    assert text.endswith("\nAfter.\n")
    assert "old" not in text
    assert SUBJECTS[-3].name in capsys.readouterr().out
