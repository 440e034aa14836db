from __future__ import annotations

import pytest

from conformance.bench import gpu_faults

BY_NAME = {subject.name: (index, subject) for index, subject in enumerate(gpu_faults.subjects())}


@pytest.mark.parametrize("name", ["gpu_host_segfault float32", "gpu_read_past_end float16", "vector_add float32"])
def test_a_subject_is_judged_in_a_process_of_its_own(name):
    index, subject = BY_NAME[name]
    record = gpu_faults._in_a_process(index, subject, 40)
    assert gpu_faults.verdict(subject, record) == "ok"
    assert record["name"] == name
    assert name in gpu_faults.table([subject], [record])[-1]


def test_a_missed_fault_a_false_alarm_and_a_lost_subject_are_told_apart():
    fault, correct = BY_NAME["gpu_wild_pointer float32"][1], BY_NAME["softmax float32"][1]
    found = {"found": {"bounds": {"summary": "s", "shapes": [[1]], "notes": []}}}
    assert gpu_faults.verdict(fault, {"found": {}}).startswith("MISSED")
    assert gpu_faults.verdict(correct, found).startswith("FALSE ALARM")
    assert gpu_faults.verdict(correct, {"error": "status -9"}).startswith("LOST")
    assert gpu_faults.verdict(fault, found) == gpu_faults.verdict(correct, {"found": {}}) == "ok"
