import math

import pytest
import torch
from hypothesis.errors import InvalidArgument
from strategy_verbs import find_any, minimal, sample

import strategies as kst
from strategies import fills
from strategies.values import LANES, pins_menu

REALS = (*kst.FLOATS, *kst.FLOAT8S)


@pytest.mark.parametrize("dtype", REALS, ids=kst.name_of)
@pytest.mark.parametrize("name", kst.DISTRIBUTIONS)
def test_distributions_are_finite_and_the_same_for_the_same_seed(name, dtype):
    for shape in ((), (1,), (7,), (3, 65), (2, 0), (2, 3, 4)):
        values = kst.Values("random", name, seed=11)
        made = values.fill(shape, dtype)

        assert made.shape == shape
        assert made.dtype == dtype
        assert values.shared(shape, dtype).is_contiguous()
        assert made.double().isfinite().all()
        assert torch.equal(made.double(), values.fill(shape, dtype).double())


@pytest.mark.parametrize(
    "name", [name for name in kst.DISTRIBUTIONS if name not in ("constant", "smallint", "expedge")]
)
def test_seeds_give_different_data(name):
    first, second = (kst.Values("random", name, seed=seed).fill((3, 65), torch.float32) for seed in (1, 2))

    assert not torch.equal(first, second)
    assert first.unique().numel() > 100


def test_what_is_prepared_is_not_made_again(monkeypatch):
    x = kst.TensorDescription((3, 4), torch.float32, values=kst.Values("random", "normal", 11))
    kst.Call((("x", x), ("n", 4))).prepare()
    monkeypatch.setattr(fills, "tensor", None)

    assert x.values.shared(x.shape, x.dtype).shape == (3, 4)


def test_a_fill_belongs_to_its_caller():
    values = kst.Values("ones")
    values.fill((3,), torch.float32).zero_()

    assert values.fill((3,), torch.float32).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", REALS, ids=kst.name_of)
def test_distributions_have_the_property_they_are_named_for(dtype):
    f = kst.format_of(dtype)
    fill = {name: kst.Values("random", name, seed=3).fill((4, 40), dtype).double() for name in kst.DISTRIBUTIONS}

    assert fill["constant"].unique().numel() == 1
    assert bool((fill["positive"] > 0).all())
    assert bool((fill["allneg"] < 0).all())
    assert bool((fill["subnormal"].abs() < f.smallest).all())
    assert bool((fill["nearmax"].abs() >= f.largest / 16).all())
    assert bool((fill["sorted"].diff(dim=1) >= 0).all())
    assert bool((fill["ulpgrid"] >= 1).all())
    assert bool((fill["offset"].mean(dim=1).abs() > fill["offset"].std(dim=1)).all())
    assert float(fill["logfull"].abs().max()) > 100 * float(fill["logfull"].abs().median())


def test_a_ramp_tells_neighbours_and_rows_apart():
    ramp = kst.Values("ramp").fill((4, 16), torch.bfloat16)

    assert ramp.unique().numel() == 64


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn], ids=kst.name_of)
@pytest.mark.parametrize("name", ["signed", "ones"])
def test_sums_and_products_of_the_exact_lane_are_exact_in_the_element_type(name, dtype):
    limit = 2 ** kst.format_of(dtype).digits
    for seed in range(40):
        left, right = (kst.Values("exact", name, seed=seed + k).fill((16, 64), dtype).double() for k in (0, 99))

        assert torch.equal(left, left.round())
        assert float(left.abs().sum()) <= limit
        assert float((left.abs().reshape(-1) * right.abs().reshape(-1)).sum()) <= limit
        assert float((left.abs() @ right.abs().T).max()) <= limit
        assert float(left.square().sum()) <= limit


@pytest.mark.parametrize("dtype", kst.FLOATS, ids=kst.name_of)
@pytest.mark.parametrize("name", kst.SPECIALS)
def test_special_data_has_the_values_it_is_named_for(name, dtype):
    fill = kst.Values("special", name, seed=5).fill((3, 9), dtype).double()
    f = kst.format_of(dtype)
    count, _, what = name.partition("_")
    holds = {
        "nan": fill.isnan(),
        "inf": fill == math.inf,
        "neginf": fill == -math.inf,
        "negzero": (fill == 0) & fill.signbit(),
        "max": fill == f.largest,
        "lowest": fill == -f.largest,
    }.get(what)
    if holds is not None and count in ("one", "row", "all"):
        assert int(holds.sum()) == {"one": 1, "row": 9, "all": 27}[count]
    elif name == "inf_pair":
        assert int((fill == math.inf).sum()) == int((fill == -math.inf).sum()) == 1
    elif name == "subnormals":
        assert bool((fill.abs() < f.smallest).all())
    elif name == "near_overflow":
        assert bool(fill.isfinite().all())
        assert not bool(fill.to(dtype).square().isfinite().all())


def test_values_whose_downcast_overflows_come_in_the_special_lane():
    fill = kst.Values("special", "downcast", seed=1).fill((3, 40), torch.float32)

    assert not bool(fill.to(torch.float16).isfinite().all())
    assert bool(fill.isfinite().all())


@pytest.mark.parametrize(
    ("domain", "holds"),
    [
        (kst.positive(), lambda x: x > 0),
        (kst.nonzero(), lambda x: x != 0),
        (kst.unit(), lambda x: (x >= 0) & (x <= 1)),
        (kst.probabilities(), lambda x: (x >= 0) & (x <= 1)),
        (kst.bounded(-1.5, 0.25), lambda x: (x >= -1.5) & (x <= 0.25)),
        (kst.integers(-7, 9), lambda x: (x == x.round()) & (x >= -7) & (x <= 9)),
        (kst.ties(step=0.25), lambda x: (x * 4 - 0.5) == (x * 4 - 0.5).round()),
    ],
    ids=lambda value: "holds" if callable(value) else repr(value),
)
def test_domains_hold_for_every_draw(domain, holds):
    values, rejected = sample(kst.tensors("rows", "cols", domain=domain), 400)

    assert rejected == 0
    for tensor in values:
        assert bool(holds(tensor.fill().double()).all()), tensor
    assert len({tensor.values.distribution for tensor in values}) > 3


@pytest.mark.parametrize("dtype", REALS, ids=kst.name_of)
def test_bounds_beyond_the_element_type_are_its_largest_numbers(dtype):
    for domain, sign in ((kst.bounded(1e307, 1e308), 1.0), (kst.bounded(-1e308, -1e307), -1.0)):
        fill = kst.Values("random", "normal", domain=domain).fill((2, 3), dtype).double()
        expected = min(kst.format_of(dtype).largest, 1e307)

        assert (fill == sign * expected).all()


def test_probabilities_add_up_to_one():
    for tensor in sample(kst.tensors("rows", "cols", domain=kst.probabilities(), layouts=kst.CONTIGUOUS), 200)[0]:
        f, n = kst.format_of(tensor.dtype), tensor.shape[-1]
        # half an ulp of each element, or of the smallest subnormal; what is left is the float64 sum of this test
        allowed = 2.0**-f.digits + n * f.tiny + (n + 4) * 2.0**-53
        assert bool(((tensor.fill().double().sum(dim=-1) - 1).abs() <= allowed).all()) or not n, tensor


@pytest.mark.parametrize("dtype", [*kst.INTEGERS, torch.bool], ids=kst.name_of)
def test_integer_domains_hold_too(dtype):
    for domain, low in ((kst.positive(), 1), (kst.integers(0, 1), 0), (kst.unit(), 0)):
        for tensor in sample(kst.tensors("n", dtypes=(dtype,), domain=domain), 60)[0]:
            fill = tensor.fill()
            assert dtype == torch.bool or bool((fill >= low).all())


def test_a_domain_that_is_none_is_refused():
    with pytest.raises(InvalidArgument):
        kst.bounded(2, 1)
    with pytest.raises(InvalidArgument):
        kst.bounded(0, math.inf)
    with pytest.raises(InvalidArgument):
        kst.integers(2, 1)
    with pytest.raises(InvalidArgument):
        kst.ties(step=0.3)
    with pytest.raises(InvalidArgument, match="domain"):
        kst.tensors("n", domain="positive")


def test_values_shrink_to_zeros_then_ones_then_one_pin_then_a_ramp():
    strategy = kst.tensors("n", layouts=kst.CONTIGUOUS)

    assert minimal(strategy).values.pattern == "zeros"
    assert minimal(strategy, lambda t: t.numel > 0 and bool((t.fill() != 0).any())).values == kst.Values("ones")
    two_kinds = minimal(strategy, lambda t: t.fill().double().unique().numel() == 2)
    assert (two_kinds.shape, two_kinds.values.pattern, len(two_kinds.values.pins)) == ((2,), "zeros", 1)
    assert minimal(strategy, lambda t: t.fill().double().unique().numel() > 9).values.pattern == "ramp"


def test_pinned_numbers_fit_the_dtype():
    for dtype in REALS:
        assert all(math.isfinite(torch.tensor(value, dtype=dtype).double().item()) for value in pins_menu(dtype))


def test_indices_stay_inside_the_axis_with_ends_and_duplicates():
    strategy = kst.calls({"x": kst.tensors("rows"), "index": kst.indices("n", into="rows")})
    values, _ = sample(strategy, 400)
    fills = [(call["index"].fill(), call.sizes["rows"]) for call in values]

    assert all(rows >= 1 for _, rows in fills)
    assert all(bool(((index >= 0) & (index < rows)).all()) for index, rows in fills)
    assert any(rows > 9 and index.numel() > 3 and {0, rows - 1} <= set(index.tolist()) for index, rows in fills)
    assert any(
        rows > 9 and index.numel() > 3 and index.unique().numel() == 1 and int(index[0]) > 1 for index, rows in fills
    )
    assert any(1 < index.unique().numel() < index.numel() for index, _ in fills)


def test_unique_indices_may_be_marked_as_ignored():
    strategy = kst.calls(
        {"slot": kst.indices("k", into="n", unique=True, ignore=-1)}, axes={"k": kst.at_most("n", min=1)}
    )
    slots = [call["slot"].fill() for call in sample(strategy, 200)[0]]
    for slot in slots:
        kept = slot[slot != -1]
        assert kept.unique().numel() == kept.numel()
    assert any(0 < int((slot == -1).sum()) < slot.numel() for slot in slots)
    assert any(bool((slot == -1).all()) for slot in slots)
    assert any(bool((slot != -1).all()) for slot in slots)


def test_offsets_rise_from_0_to_the_end_of_the_axis_that_they_cut():
    strategy = kst.calls(
        {"x": kst.tensors("tokens", "cols"), "starts": kst.offsets("sequences+1", into="tokens", dtypes=(torch.int32,))}
    )
    lengths = []
    for call in sample(strategy, 300)[0]:
        starts, tokens = call["starts"].fill(), call.sizes["tokens"]
        assert starts.dtype == torch.int32
        assert starts.numel() == call.sizes["sequences"] + 1 >= 2
        assert (int(starts[0]), int(starts[-1])) == (0, tokens)
        assert bool((starts.diff() >= 0).all())
        lengths.append(starts.diff())
    assert any(bool((n == 0).any()) and int(n.sum()) > 9 for n in lengths)
    assert any(n.numel() > 3 and int(n.max()) == int(n.sum()) > 9 for n in lengths)
    assert any(int(n.sum()) == 0 for n in lengths)
    assert any(n.unique().numel() > 3 for n in lengths)


@pytest.mark.parametrize(("axes", "into"), [((1,), "n"), ((), "n"), (("k+1",), 3)])
def test_offsets_of_no_parts_are_refused(axes, into):
    with pytest.raises(InvalidArgument):
        kst.offsets(*axes, into=into)


def test_unique_indices_are_unique():
    strategy = kst.calls({"index": kst.indices("k", into="n", unique=True)}, axes={"k": kst.at_most("n")})

    for call in sample(strategy, 300)[0]:
        assert call["index"].fill().unique().numel() == call["index"].numel
    with pytest.raises(InvalidArgument, match="at_most"):
        sample(kst.indices("k", into=2, unique=True), 100)


@pytest.mark.parametrize("into", [0, -1, True, None, "2*n", 1.5])
def test_an_index_into_nothing_is_refused(into):
    with pytest.raises(InvalidArgument, match="into"):
        kst.indices("n", into=into)


def test_masks_are_all_true_all_false_causal_ragged_and_random():
    strategy = kst.masks("rows", "cols", layouts=kst.CONTIGUOUS)

    def mask(condition):
        return find_any(strategy, lambda t: min(t.shape) > 3 and condition(t.fill()))

    mask(lambda m: bool(m.all()))
    mask(lambda m: not bool(m.any()))
    mask(lambda m: m.shape[0] == m.shape[1] and torch.equal(m, torch.ones_like(m).tril()))
    mask(lambda m: bool((~m.any(dim=1)).any()) and bool(m.all(dim=1).any()) is False and bool(m.any()))
    mask(lambda m: bool((m.int().diff(dim=1) <= 0).all()) and m.sum(dim=1).unique().numel() > 3)


def test_seeds_are_one_number_and_large_ones_come():
    strategy = kst.seeds()

    assert minimal(strategy).fill().tolist() == [0]
    find_any(strategy, lambda t: int(t.fill()) > 2**32)


@pytest.mark.parametrize("lane", LANES)
def test_every_lane_of_every_dtype_fills(lane):
    for dtype in (*REALS, *kst.INTEGERS, torch.bool):
        for call in sample(kst.calls({"x": kst.tensors("a", "b", dtypes=(dtype,))}, lane=lane), 60)[0]:
            assert call["x"].build().dtype == dtype


def test_named_values_are_the_only_ones():
    values, _ = sample(kst.tensors("n", values=("zeros", "normal")), 200)

    assert {tensor.values.distribution or tensor.values.pattern for tensor in values} == {"zeros", "normal"}
    with pytest.raises(InvalidArgument, match="gaussian"):
        kst.tensors("n", values=("gaussian",))


def test_formats_are_those_of_the_types():
    assert (kst.format_of(torch.bfloat16).digits, kst.format_of(torch.bfloat16).emin) == (8, -126)
    assert kst.format_of(torch.float32).tiny == 2.0**-149
    assert kst.format_of(torch.float8_e4m3fn).largest == 448.0
    assert kst.dtype_of("bfloat16") is torch.bfloat16
    with pytest.raises(ValueError, match="no torch dtype"):
        kst.dtype_of("nn")
