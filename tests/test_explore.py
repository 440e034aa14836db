"""The search collects every kind of objection and shrinks each by itself."""

from hypothesis import strategies as st

import strategies as kst
from conformance.explore import explore
from conformance.failures import AccuracyFailure, BoundsFailure, WrittenFailure
from conformance.oracles.objection import Objection


def objection(failure):
    return Objection(failure, "law", failure.oracle)


def test_two_faults_that_come_together_are_both_found_and_shrunk_apart():
    def check(n):
        found = []
        if n >= 129:
            found.append(objection(AccuracyFailure))
        if n >= 701:
            found.append(objection(BoundsFailure))
        return found

    result = explore(st.integers(0, 10_000), check, examples=100, seed=0)

    assert {kind: found.call for kind, found in result.found.items()} == {AccuracyFailure: 129, BoundsFailure: 701}


def test_nothing_is_found_where_nothing_objects():
    result = explore(st.integers(), lambda n: [], examples=57, seed=0)

    assert result.found == {}
    assert result.examples == 57
    assert not result.interrupted


def test_the_same_seed_judges_the_same_calls():
    runs = []
    for seed in (1, 1, 2):
        calls = []
        explore(st.integers(), lambda n, calls=calls: calls.append(n) or [], examples=30, seed=seed)
        runs.append(calls)

    assert runs[0] == runs[1] != runs[2]


def test_each_call_is_announced_once_and_before_it_is_judged():
    for strategy in (kst.choices(*range(200)), st.integers()):
        announced, judged = [], []

        def check(n, announced=announced, judged=judged):
            assert n in announced
            judged.append(n)
            return []

        explore(strategy, check, examples=50, seed=0, ahead=announced.extend)

        assert announced == judged
        assert len(set(judged)) == 50


def test_an_interrupt_ends_the_search_and_keeps_what_was_found():
    count = 0

    def check(n):
        nonlocal count
        count += 1
        if count == 10:
            raise KeyboardInterrupt
        return [objection(WrittenFailure)] if count == 3 else []

    result = explore(st.integers(), check, examples=100, seed=0)

    assert result.interrupted
    assert list(result.found) == [WrittenFailure]


def test_a_kernel_that_changes_its_mind_is_still_reported():
    answers = iter([[objection(AccuracyFailure)]])
    result = explore(st.integers(0, 5), lambda n: next(answers, []), examples=50, seed=0)

    assert list(result.found) == [AccuracyFailure]


def test_known_failures_are_not_shrunk():
    result = explore(
        st.integers(0, 10**6),
        lambda n: [objection(AccuracyFailure)] if n > 10 else [],
        examples=50,
        seed=0,
        shrink=False,
    )

    assert result.found[AccuracyFailure].call > 11


def test_calls_of_many_choices_are_not_drawn_in_vain():
    drawn = []

    def kept(numbers):
        drawn.append(numbers)
        return tuple(numbers)

    calls = st.lists(st.integers(0, 2**60), min_size=150, max_size=150).map(kept)

    assert explore(calls, lambda numbers: [], examples=20, seed=0).examples == 20
    assert len(drawn) < 30


def test_the_search_for_other_kinds_ends_by_the_clock_of_what_calls_cost():
    spent = 0.0

    def check(n):
        nonlocal spent
        spent += 15.0  # a kernel that hangs elsewhere, for which this process only waits
        return [objection(BoundsFailure)]

    waited = explore(st.integers(0, 10_000), check, examples=100, seed=0, shrink=False, clock=lambda: spent)
    computed = explore(st.integers(0, 10_000), check, examples=100, seed=0, shrink=False)

    assert waited.examples == 3
    assert computed.examples == 21
