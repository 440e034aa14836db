import pytest
from hypothesis.errors import InvalidArgument
from strategy_verbs import find_any, minimal, sample

import strategies as kst
from strategies.axes import dimension
from strategies.shapes import LONG, ladder, stretch


def sizes_of(axes, *names, **options):
    return kst.calls({"x": kst.tensors(*names)}, axes=axes, **options)


def test_every_size_up_to_the_longest_can_be_shrunk_to():
    for size in (1, 2, 14, 65, 70, 129, 333, 1025):
        assert minimal(sizes_of({}, "n"), lambda call, size=size: call.sizes["n"] >= size).sizes["n"] == size


def test_zero_comes_unless_the_axis_has_a_minimum():
    find_any(sizes_of({}, "n"), lambda call: call.sizes["n"] == 0)
    assert all(call.sizes["n"] >= 1 for call in sample(sizes_of({"n": kst.sizes(min=1)}, "n"), 500)[0])


def test_one_is_simpler_than_zero():
    assert minimal(sizes_of({}, "n")).sizes == {"n": 1}


@pytest.mark.parametrize("near", [-1, 0, 1])
@pytest.mark.parametrize("block", [16, 32, 64, 128])
def test_sizes_come_next_to_every_block_edge(block, near):
    find_any(sizes_of({}, "n"), lambda call: call.sizes["n"] == block + near)


def test_blocks_of_a_kernel_are_aimed_at():
    values, _ = sample(sizes_of({"n": kst.sizes(blocks=(96,))}, "n"), 600)

    assert sum(call.sizes["n"] in (95, 96, 97) for call in values) > 40


def test_even_axes_are_even():
    values, _ = sample(sizes_of({"n": kst.even()}, "n"), 500)

    assert all(call.sizes["n"] % 2 == 0 for call in values)
    assert len({call.sizes["n"] for call in values}) > 40


def test_a_multiple_of_a_number_or_of_an_axis_divides_by_it():
    by_number, _ = sample(sizes_of({"n": kst.multiple_of(16)}, "n"), 300)
    by_axis, _ = sample(sizes_of({"q": kst.multiple_of("k")}, "q", "k"), 300)

    assert all(call.sizes["n"] % 16 == 0 for call in by_number)
    assert all(call.sizes["k"] == 0 or call.sizes["q"] % call.sizes["k"] == 0 for call in by_axis)
    assert any(call.sizes["q"] > call.sizes["k"] > 1 for call in by_axis)


def test_an_axis_bounded_by_another_reaches_it_and_stays_below():
    values, _ = sample(sizes_of({"n": kst.at_most("m")}, "n", "m"), 500)

    assert all(call.sizes["n"] <= call.sizes["m"] for call in values)
    assert sum(call.sizes["n"] == call.sizes["m"] > 1 for call in values) > 25
    assert any(0 < call.sizes["n"] < call.sizes["m"] for call in values)


def test_derived_axes_follow_their_sources():
    axes = {"groups": kst.ceil_div("k", 16), "twice": kst.derived(lambda k: 2 * k + 1, "k")}
    values, _ = sample(sizes_of(axes, "k", "groups", "twice"), 300)

    assert all(call.sizes["groups"] == -(-call.sizes["k"] // 16) for call in values)
    assert all(call.sizes["twice"] == 2 * call.sizes["k"] + 1 for call in values)


def test_an_axis_of_no_tensor_may_be_a_source():
    values, _ = sample(sizes_of({"half": kst.sizes(max=8), "n": kst.derived(lambda half: 2 * half, "half")}, "n"), 50)

    assert all(call.sizes["n"] == 2 * call.sizes["half"] for call in values)


def test_the_budget_holds_for_squares_sums_and_derived_axes():
    axes = {"groups": kst.derived(lambda n: n * 3, "n")}
    values, _ = sample(sizes_of(axes, "n", "n", "groups", max_elements=5000), 300)

    assert all(call["x"].numel <= 5000 for call in values)
    assert any(call.sizes["n"] > 9 for call in values)


def test_a_larger_budget_allows_longer_axes():
    find_any(sizes_of({}, "n", max_elements=2**16), lambda call: call.sizes["n"] > 4096)


@pytest.mark.parametrize("near", [-1, 0, 1])
@pytest.mark.parametrize("power", [2048, 4096, 8192, 16384, 32768])
def test_sizes_come_next_to_the_powers_at_which_blocks_are_capped(power, near):
    find_any(sizes_of({}, "n"), lambda call: call.sizes["n"] == power + near, examples=20_000)


@pytest.mark.parametrize("axes", [{}, {"n": kst.sizes(min=1)}, {"n": kst.even()}, {"n": kst.multiple_of(16)}])
def test_one_call_in_twenty_has_a_long_axis_unless_its_author_bounds_it(axes):
    values, _ = sample(sizes_of(axes, "n", "m"), 1500)

    assert 40 < sum(call.sizes["n"] > 2048 for call in values) < 120


@pytest.mark.parametrize(
    "axes",
    [
        {"n": kst.sizes(max=2000)},
        {"n": kst.fixed(3)},
        {"n": kst.at_most("m"), "m": kst.sizes(max=9)},
        {"n": kst.ceil_div("m", 16), "m": kst.sizes(max=9)},
    ],
)
def test_an_axis_that_its_author_bounds_is_never_long(axes):
    assert "n" not in sizes_of(axes, "n", "m").long


def test_a_bound_above_a_power_allows_sizes_up_to_it():
    values, _ = sample(sizes_of({"n": kst.sizes(max=5000)}, "n"), 1000)

    assert 4096 < max(call.sizes["n"] for call in values) <= 5000


def test_axes_can_be_kept_short():
    assert sizes_of({}, "n", "m", long=("m",)).long == ("m",)
    assert max(call.sizes["n"] for call in sample(sizes_of({}, "n", long=()), 500)[0]) <= 1100


def test_a_square_is_not_long_where_the_budget_has_no_room_for_it():
    assert sizes_of({}, "n", "n").long == ()
    assert sizes_of({}, "n", "2*n+1").long == ()


@pytest.mark.parametrize("size", [3000, 4097, 9000])
def test_a_long_axis_shrinks_to_the_smallest_size_that_fails(size):
    found = minimal(kst.calls({"x": kst.tensors("rows", "cols")}), lambda call: call.sizes["cols"] >= size)

    assert found.sizes == {"cols": size, "rows": 1}


def test_a_fault_of_short_and_long_axes_shrinks_to_a_short_one():
    strategy = kst.calls({"x": kst.tensors("rows", "cols")})

    assert minimal(strategy, lambda call: call.sizes["cols"] >= 17).sizes["cols"] == 17


def test_a_matrix_product_of_a_call_stays_small():
    strategy = kst.calls({"a": kst.tensors("m", "k"), "b": kst.tensors("k", "n")})

    assert all(call.sizes["m"] * call.sizes["n"] <= 16 * 4096 for call in sample(strategy, 500)[0])


@pytest.mark.parametrize(
    ("text", "sizes", "value"), [("2*a+1", {"a": 3}, 7), ("a*b", {"a": 3, "b": 4}, 12), (5, {}, 5)]
)
def test_dimensions_are_sums_and_products(text, sizes, value):
    assert dimension(text).size(sizes) == value


@pytest.mark.parametrize("axis", ["a-1", "a//2", "f(a)", "", "2 3", "a.b", "1.5", -1, True, None, 2.0])
def test_anything_else_is_no_dimension(axis):
    with pytest.raises(InvalidArgument, match="axis"):
        kst.tensors(axis)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kst.sizes(min=-1),
        lambda: kst.sizes(min=5, max=4),
        lambda: kst.sizes(min=1, max=15, multiple=16),
        lambda: kst.sizes(blocks=[]),
        lambda: kst.fixed(1.0),
        lambda: kst.multiple_of(0),
        lambda: kst.at_most(3),
        lambda: kst.ceil_div("k", 0),
        lambda: kst.derived(lambda: 3),
        lambda: kst.derived(3, "k"),
    ],
)
def test_wrong_relations_are_refused_at_once(make):
    with pytest.raises(InvalidArgument):
        make()


def test_a_ladder_starts_with_the_simplest_and_holds_every_size():
    steps = ladder(0, 300).steps

    assert steps[0] == 1
    assert set(steps) == set(range(301))
    assert [size for i, size in enumerate(steps) if i == 0 or steps[i - 1] != size][:4] == [1, 0, 2, 3]


@pytest.mark.parametrize(("low", "high", "multiple"), [(0, 9000, 1), (100, 5000, 16), (3, 2048, 1)])
def test_long_sizes_ascend_to_the_powers_that_are_aimed_at_and_hold_every_size(low, high, multiple):
    steps = stretch(low, high, multiple)
    sizes = [steps[i] for i in range(len(steps))]
    first = -(-max(low, 1) // multiple) * multiple

    assert sizes == sorted(sizes)
    assert set(sizes) == set(range(first, max(sizes) + 1, multiple))
    assert sum(min(abs(size - power) for power in LONG) <= multiple for size in sizes) > 0.9 * len(sizes)
    assert steps.aimed[-1] == max(sizes) <= high


def test_no_long_size_lies_below_the_first_power():
    assert stretch(0, 2046) is None


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 64, 299, 300, 1000])
def test_the_reach_of_a_ladder_is_its_entries_up_to_a_limit(limit):
    steps = ladder(0, 300)

    assert set(steps.steps[: steps.reach(limit)]) == set(range(max(min(limit, 300), 1) + 1))
