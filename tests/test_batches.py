"""What is drawn by tables is what Hypothesis draws, from choices that it takes for its own."""

import random

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import strategies as kst
from conformance import ops
from conformance.batches import Batches, Single, Tables
from conformance.explore import _run, _settings, _Start, explore
from conformance.lanes import LANES
from conformance.trial import Trial

CALLS = {
    "tables alone": ops.softmax.calls(),
    "several tensors and a scalar": ops.rms_norm.calls(lane="special"),
    "a scalar of Hypothesis": kst.calls(
        {"x": kst.tensors("n"), "factor": st.floats(0, 1), "y": kst.tensors("n", optional=True)}
    ),
    "a strategy of Hypothesis round them": st.tuples(ops.matmul.calls(lane="exact"), st.integers(0, 9)),
    "a relation": LANES["relations"].draw(Trial(ops.softmax, torch.softmax), torch.float32),
}


def drawn(strategy, seed, examples=40):
    calls = []
    explore(strategy, lambda call: calls.append(call) or [], examples=examples, seed=seed)
    return calls


@pytest.mark.parametrize("name", CALLS)
def test_the_choices_of_a_call_make_it_again(name):
    batches = []

    @settings(max_examples=5, database=None, phases=[Phase.generate], derandomize=True)
    @given(Batches(CALLS[name], lambda: 20))
    def collect(batch):
        batches.extend(batch)

    collect()

    assert len({call for call, _ in batches}) > 20
    for made in batches[:30]:
        again = []
        _run(Single(CALLS[name]), again.extend, _settings(1, Phase.reuse, database=_Start(made[1])), seed=0)
        assert again == [made]


@pytest.mark.parametrize("name", CALLS)
def test_a_search_draws_as_many_different_calls_as_it_is_asked_for(name):
    calls = drawn(CALLS[name], 0, 300)

    assert len(set(calls)) == len(calls) == 300


def test_the_first_call_is_the_simplest():
    assert drawn(CALLS["tables alone"], 3)[0] == Tables(None, None).draw(CALLS["tables alone"])
    assert drawn(CALLS["tables alone"], 3)[0]["x"].shape == (1, 1)


def test_a_search_ends_where_there_are_no_more_calls():
    assert len(drawn(kst.choices(1, 2, 3), 0, 50)) == 3


def test_entries_of_a_table_come_evenly():
    tables = Tables(random.Random(1), None)
    table = kst.choices(*range(8))
    counts = torch.bincount(torch.tensor([tables.draw(table) for _ in range(8000)]))

    # five standard deviations of a binomial distribution: sqrt(8000 * 1/8 * 7/8) is 30
    assert counts.shape == (8,)
    assert (counts - 1000).abs().max() < 150
