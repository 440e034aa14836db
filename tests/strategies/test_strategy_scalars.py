import pytest
from hypothesis.errors import InvalidArgument
from strategy_verbs import find_any, minimal, sample

import strategies as kst
from strategies.choices import integer, weighted


@pytest.mark.parametrize(
    ("strategy", "simplest"),
    [
        (kst.epsilons(), 1e-5),
        (kst.scales(), 1.0),
        (kst.rates(), 0.5),
        (kst.flags(), False),
        (kst.choices("mean", "sum"), "mean"),
        (kst.configs(BLOCK=[64, 16], num_warps=[4]), {"BLOCK": 64, "num_warps": 4}),
    ],
    ids=repr,
)
def test_scalars_shrink_to_the_simplest_and_reject_nothing(strategy, simplest):
    assert minimal(strategy) == simplest
    assert sample(strategy, 1000)[1] == 0


def test_the_ends_of_scalars_come():
    find_any(kst.rates(), lambda p: p == 0.0)
    find_any(kst.rates(), lambda p: p == 1.0)
    find_any(kst.scales(), lambda scale: scale < 0)
    find_any(kst.epsilons(), lambda eps: eps < 6e-8)
    find_any(kst.flags(), lambda flag: flag)


def test_configs_are_drawn_from_the_given_values_only():
    configs, _ = sample(kst.configs(BLOCK=[64, 128], num_warps=[1, 4, 8]), 100)

    assert {(config["BLOCK"], config["num_warps"]) for config in configs} == {
        (b, w) for b in (64, 128) for w in (1, 4, 8)
    }


def test_empty_choices_are_refused():
    with pytest.raises(InvalidArgument, match="BLOCK"):
        kst.configs(BLOCK=[])
    with pytest.raises(InvalidArgument, match="BLOCK"):
        kst.configs(BLOCK=64)
    with pytest.raises(InvalidArgument, match="at least one"):
        kst.choices()


def test_indices_into_tables_are_drawn_evenly():
    class Index(type(kst.flags())):
        def do_draw(self, data):
            return integer(data, 0, 9999)

    values, _ = sample(Index((), "indices"), 2000)
    tenths = [sum(value // 1000 == tenth for value in values) for tenth in range(10)]

    # 200 expected, standard deviation 13.4: six of them on either side
    assert all(120 < count < 280 for count in tenths), tenths


def test_a_weighted_table_keeps_order_and_counts():
    assert weighted([("a", 1), ("b", 3)]) == ("a", "b", "b", "b")
