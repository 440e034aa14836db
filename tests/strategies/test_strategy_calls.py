import functools
import json
import math

import pytest
import torch
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from kernel_calls import OPERATIONS
from strategy_verbs import find_any, minimal, sample

import strategies as kst


@functools.cache
def drawn(name, lane="numeric", examples=60):
    return sample(kst.calls(**OPERATIONS[name], lane=lane), examples)


@pytest.mark.parametrize(
    "strategy",
    [
        kst.tensors("a", "2*b", optional=True),
        kst.indices("n", into=7, ignore=-1),
        kst.masks("m", "n"),
        kst.outputs("n"),
        kst.calls(**OPERATIONS["dropout"]),
        kst.calls(**OPERATIONS["scatter"]),
        kst.calls(**OPERATIONS["scaled_matmul"], lane="special"),
        kst.calls(**OPERATIONS["grouped_attention"], lane="exact"),
    ],
    ids=repr,
)
def test_no_draw_is_rejected_in_a_thousand(strategy):
    values, rejected = sample(strategy, 1000)

    assert rejected == 0
    assert len(values) == 1000


@pytest.mark.parametrize("lane", kst.LANES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_built_is_what_is_described(name, lane):
    for call in drawn(name, lane)[0]:
        built = call.build()
        for argument, described in call.tensors.items():
            tensor = built[argument]
            assert tuple(tensor.shape) == described.shape
            assert tensor.dtype == described.dtype
            assert tensor.stride() == described.layout.strides
            assert tensor.storage_offset() == described.layout.offset
            assert tensor.untyped_storage().nbytes() == described.layout.extent * tensor.element_size()
            assert same(tensor, described.contiguous().build())


@pytest.mark.parametrize("lane", kst.LANES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_json_and_source_rebuild_a_call(name, lane):
    for call in drawn(name, lane)[0][::5]:
        assert kst.Call.from_json(json.loads(json.dumps(call.to_json(), allow_nan=False))) == call
        scope = {"torch": torch}
        exec(call.source(), scope)
        for argument, value in call.build().items():
            if isinstance(value, torch.Tensor):
                assert scope[argument].stride() == value.stride()
                assert scope[argument].storage_offset() == value.storage_offset()
                assert same(scope[argument], value)
            else:
                assert scope[argument] == value


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_tensor_exceeds_the_element_budget(name):
    strategy = kst.calls(**OPERATIONS[name], long=())

    for call in sample(strategy, 60)[0]:
        assert all(tensor.numel <= 4096 for tensor in call.tensors.values())


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_call_with_a_long_axis_has_a_larger_budget_for_all_axes_together(name):
    strategy = kst.calls(**OPERATIONS[name])
    for call in drawn(name)[0]:
        sizes = [call.sizes[axis] for axis in call.sizes if axis not in OPERATIONS[name].get("axes", {})]
        if max(sizes) > 1100:
            assert set(strategy.long) & set(call.sizes)
            assert 0 not in sizes
            assert math.prod(sizes) <= (36864 if len(sizes) == 1 else 20480)
        else:
            assert all(tensor.numel <= 4096 for tensor in call.tensors.values())


def test_numbers_are_finite_outside_the_special_lane():
    for name in OPERATIONS:
        for lane in ("numeric", "exact"):
            for call in drawn(name, lane)[0]:
                for tensor in call.tensors.values():
                    assert (
                        not tensor.dtype.is_floating_point
                        or tensor.fill().float().isfinite().all()
                        or (tensor.dtype == torch.float64 and tensor.fill().isfinite().all())
                    )


def same(left, right):
    """Equal bits, but for the payload of a NaN."""
    if not left.dtype.is_floating_point:
        return torch.equal(left, right)
    left, right = left.double(), right.double()
    return torch.equal(left.isnan(), right.isnan()) and torch.equal(
        left.nan_to_num(7.0, torch.inf, -torch.inf), right.nan_to_num(7.0, torch.inf, -torch.inf)
    )


@pytest.mark.parametrize("name", OPERATIONS)
def test_calls_shrink_to_one_element_and_zeros(name):
    smallest = minimal(kst.calls(**OPERATIONS[name]))

    assert all(tensor.layout.is_contiguous for tensor in smallest.tensors.values())
    assert all(tensor.values.pattern in ("zeros", "ones", "ramp") for tensor in smallest.tensors.values())
    assert all(tensor.numel <= 16 for tensor in smallest.tensors.values())


def test_a_fault_of_rows_longer_than_a_block_shrinks_to_the_first_such_row():
    call = minimal(kst.calls(**OPERATIONS["softmax"]), lambda call: call.sizes["cols"] > 64)

    assert call["x"].shape == (1, 65)
    assert call["x"].values.pattern == "zeros"


def test_a_fault_of_one_strided_argument_shrinks_to_that_argument():
    call = minimal(kst.calls(**OPERATIONS["matmul"]), lambda call: "transposed" in call["b"].layout.kinds)

    assert call["a"].layout.is_contiguous
    assert call["b"].layout.kinds == ("transposed",)


def test_axes_of_one_name_have_one_size():
    for call in drawn("matmul")[0]:
        assert call["a"].shape[1] == call["b"].shape[0] == call.sizes["k"]


def test_tensors_of_one_dtype_group_share_their_dtype():
    values, _ = sample(kst.calls({"x": kst.tensors("n"), "y": kst.tensors("n")}), 200)

    assert all(call["x"].dtype == call["y"].dtype for call in values)


def test_a_dtype_group_of_its_own_draws_its_own_dtype():
    inputs = {"x": kst.tensors("n"), "y": kst.tensors("n", dtype_group="accumulator")}

    find_any(kst.calls(inputs), lambda call: call["x"].dtype != call["y"].dtype)


def test_a_pinned_dtype_is_that_of_the_first_group_that_takes_it():
    inputs = {"index": kst.indices("n", into="rows"), "x": kst.tensors("rows"), "y": kst.tensors("rows")}
    values, _ = sample(kst.calls(inputs, dtype=torch.float16), 100)

    assert all(call["x"].dtype == call["y"].dtype == torch.float16 for call in values)


def test_layouts_of_a_call_can_be_restricted_for_all_or_for_one():
    inputs = {"x": kst.tensors("r", "c"), "y": kst.tensors("r", "c")}
    all_dense, _ = sample(kst.calls(inputs, layouts=kst.CONTIGUOUS), 200)
    one_dense, _ = sample(kst.calls(inputs, layouts={"x": kst.CONTIGUOUS}), 200)

    assert all(call[name].layout.is_contiguous for call in all_dense for name in call)
    assert all(call["x"].layout.is_contiguous for call in one_dense)
    assert any(not call["y"].layout.is_contiguous for call in one_dense)


@pytest.mark.parametrize("allowed", [("contiguous", kind) for kind in kst.LAYOUTS[1:]])
def test_a_restricted_layout_never_has_another_kind(allowed):
    values, _ = sample(kst.calls({"x": kst.tensors("a", "b", "c")}, layouts=allowed), 300)

    assert all(set(call["x"].layout.kinds) <= set(allowed) for call in values)
    assert any(allowed[1] in call["x"].layout.kinds for call in values)


def test_an_in_place_argument_never_shares_memory_between_elements():
    assert all("expanded" not in call["p"].layout.kinds for call in drawn("sgd_step")[0])


def test_scalars_of_any_strategy_are_taken():
    call = minimal(kst.calls({"x": kst.tensors("n"), "n": st.integers(3, 9), "mode": st.sampled_from(["mean", "sum"])}))

    assert (call["n"], call["mode"]) == (3, "mean")


def test_optional_tensors_are_none_and_not_none():
    strategy = kst.calls(**OPERATIONS["layer_norm"])

    find_any(strategy, lambda call: call["w"] is None and call["b"] is not None)
    assert minimal(strategy)["w"] is None


def test_labels_can_all_be_ignored_and_partly():
    strategy = kst.calls(**OPERATIONS["cross_entropy"])

    find_any(strategy, lambda call: call["labels"].numel > 1 and bool((call["labels"].fill() == -100).all()))
    find_any(strategy, lambda call: 0 < int((call["labels"].fill() == -100).sum()) < call["labels"].numel)


def test_an_attention_row_can_be_wholly_masked_beside_others_that_are_not():
    def some_row_dead(call):
        rows = call["mask"].fill().bool()
        return rows.numel() > 0 and bool((~rows.any(dim=1)).any()) and bool(rows.any())

    find_any(kst.calls(**OPERATIONS["attention"]), some_row_dead)


def test_replace_changes_one_argument_and_refuses_an_unknown_name():
    call = minimal(kst.calls(**OPERATIONS["add"]))
    other = kst.TensorDescription((3,), torch.float16)

    assert call.replace("y", other)["y"] == other
    with pytest.raises(KeyError):
        call.replace("z", other)


def test_the_kernel_of_a_drawn_call_runs_in_torch():
    for call in drawn("cross_entropy")[0][:50]:
        arguments = call.build()
        loss = torch.nn.functional.cross_entropy(
            arguments["logits"].double(), arguments["labels"].long(), ignore_index=-100, reduction="none"
        )
        assert loss.shape == arguments["labels"].shape


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axes": {"cells": kst.even()}}, "cells"),
        ({"axes": {"n": kst.multiple_of("unknown")}}, "unknown"),
        ({"axes": {"n": kst.at_most("m"), "m": kst.at_most("n")}}, "depends on itself"),
        ({"axes": {"n": 4}}, "kst.fixed"),
        ({"lane": "odd"}, "numeric, exact, special"),
        ({"layouts": ("diagonal",)}, "diagonal"),
        ({"layouts": "contiguous"}, "tuple"),
        ({"layouts": {"z": kst.CONTIGUOUS}}, "z"),
        ({"dtype": torch.int32}, "int32"),
        ({"special": ("two_nans",)}, "two_nans"),
        ({"max_elements": 0}, "max_elements"),
        ({"long": ("cells",)}, "cells"),
    ],
)
def test_wrong_options_are_refused_at_once_by_name(options, message):
    with pytest.raises(InvalidArgument, match=message):
        kst.calls({"x": kst.tensors("n"), "y": kst.tensors("n", "m")}, **options)


def test_inputs_that_are_no_strategies_are_refused_at_once():
    with pytest.raises(InvalidArgument, match="just"):
        kst.calls({"x": kst.tensors("n"), "eps": 1e-5})
    with pytest.raises(InvalidArgument, match="dict"):
        kst.calls({})
