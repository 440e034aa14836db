from __future__ import annotations

import math

import pytest
from report_samples import FINDINGS, evidence, finding, tail

from conformance.events import Event, Kind
from conformance.report.causes import MOST, Pattern, likely_causes, of_events, of_pattern, of_value


def pattern(wrong: list[tuple[int, int]], rows: int = 4, columns: int = 20, block: int | None = 8) -> Pattern:
    return Pattern(rows, columns, frozenset(wrong), block)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([(row, column) for row in range(4) for column in range(16, 20)], "only the last tile"),
        ([(2, 17)], "only the last tile"),
        ([(row, column) for row in range(4) for column in range(8, 20)], "after the first tile"),
        ([(row, column) for row in range(1, 4) for column in range(20)], "only row 0 is right"),
        ([(row, 19) for row in range(4)], "only the last column"),
        ([(row, 0) for row in range(4)], "only the first column"),
    ],
)
def test_a_pattern_of_wrong_elements_has_its_cause(wrong: list[tuple[int, int]], words: str) -> None:
    (cause,) = of_pattern(pattern(wrong))
    assert words in cause


def test_every_kth_row_is_seen_with_its_step() -> None:
    (cause,) = of_pattern(pattern([(row, 3) for row in (2, 5, 8)], rows=9))
    assert cause.startswith("one row in 3 is wrong, from row 2")


def test_the_last_column_is_the_last_tile_where_it_is_alone_in_it() -> None:
    (cause,) = of_pattern(pattern([(0, 16), (3, 16)], columns=17))
    assert "only the last tile" in cause


def test_a_diagonal_and_its_complement_are_told_apart() -> None:
    on = [(i, i) for i in range(5)]
    off = [(i, j) for i in range(5) for j in range(5) if i != j]
    assert "only the diagonal is wrong" in of_pattern(pattern(on, 5, 5))[0]
    assert "only the diagonal is right" in of_pattern(pattern(off, 5, 5))[0]


def test_scattered_and_complete_patterns_have_no_cause() -> None:
    assert of_pattern(pattern([(0, 3), (2, 11)])) == []
    assert of_pattern(pattern([(row, column) for row in range(4) for column in range(20)])) == []
    assert of_pattern(pattern([])) == []


def test_a_tile_that_the_axis_is_a_multiple_of_has_no_masked_end() -> None:
    assert of_pattern(pattern([(0, 17), (1, 22)], columns=24)) == []


@pytest.mark.parametrize(
    ("got", "words"), [(0.6, "twice"), (0.15, "half"), (-0.3, "wrong sign"), (0.0, "is 0"), (math.nan, "poison")]
)
def test_a_value_tells_its_cause(got: float, words: str) -> None:
    (cause,) = of_value(evidence([(0, 3)], got=got))
    assert words in cause


def test_other_values_tell_nothing() -> None:
    assert of_value(evidence([(0, 3)], got=0.41)) == []
    assert of_value(evidence([(0, 3)], got=math.nan, exact=math.nan)) == []


def test_nan_from_a_column_on_names_the_column() -> None:
    (cause,) = of_value(evidence(tail(start=5), got=math.nan))
    assert cause.startswith("NaN from column 5 on")


def test_a_list_of_wrong_elements_that_was_cut_gives_no_pattern() -> None:
    cut = finding("accuracy", "many", value=evidence(tail(), wrong_count=9999))
    assert not any("tile" in cause for cause in likely_causes(cut))


def test_there_are_never_more_causes_than_are_read() -> None:
    assert all(len(likely_causes(each)) <= MOST for each in FINDINGS.values())


def test_an_argument_of_another_type_is_no_matter_of_widths_of_pointers():
    (cause,) = of_events([Event(Kind.MISREAD, "s", "float 0.5 for `float s`")])

    assert "numpy.float32" in cause
