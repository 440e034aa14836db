from __future__ import annotations

import torch
from report_samples import LAUNCH, call

import strategies as kst
from conformance.report.coverage import DIMENSIONS, Coverage, holes


def test_a_call_is_counted_once_in_each_of_its_classes() -> None:
    coverage = Coverage()
    coverage.count(kst.Call.from_json(call(16, 16)), LAUNCH)
    coverage.count(kst.Call.from_json(call(1, 17, dtype="float16", strides=(20, 1))))
    assert coverage.counts() == {
        "axis size": {"multiple of 16": 1, "1": 1, "power of two + 1": 1},
        "layout": {"contiguous": 1, "odd_ones": 1},
        "dtype": {"float32": 1, "float16": 1},
        "values": {"ramp": 2},
        "last axis mod BLOCK": {"0": 1},
        "programs": {"2 to 4": 1},
    }


def test_what_was_not_reached_is_a_hole() -> None:
    coverage = Coverage()
    coverage.count(kst.Call.from_json(call(1, 17)), LAUNCH)
    found = holes(coverage.counts())
    assert found["programs"] == ["0", "1", "5 to 16", "more than 16"]
    assert "contiguous" not in found["layout"]


def test_every_layout_that_is_drawn_has_a_class() -> None:
    assert DIMENSIONS["layout"] == kst.LAYOUTS


def test_calls_without_tensors_have_no_classes() -> None:
    coverage = Coverage()
    coverage.count(kst.Call((("eps", 1e-5), ("mask", None))))
    assert coverage.counts() == {}


def test_index_tensors_count_too() -> None:
    tensor = kst.TensorDescription((3,), torch.int64, values=kst.Values("random", "any"))
    coverage = Coverage()
    coverage.count(kst.Call((("index", tensor),)))
    assert coverage.counts()["dtype"] == {"int64": 1}
