from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import find
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import strategies as kst
from conformance import Op


def matmul(a: Any, b: Any, *, scale: Any = 1.0) -> Any:
    return a @ b * scale


def pick(x: Any, labels: Any) -> Any:
    return x.gather(1, labels.clamp(min=0)[:, None].long())[:, 0] * (labels >= 0)


def annotated(kind: str, axes: str) -> type:
    """What jaxtyping makes of `Kind[Tensor, axes]`, as far as we read it."""
    return type(f"{kind}[Tensor, {axes!r}]", (), {"dim_str": axes})


def smallest(op: Op) -> kst.Call:
    return find(op.calls(), lambda call: True)


def from_text(op: Op) -> Op:
    """The op that its text makes."""
    assert op.text is not None
    names: dict[str, Any] = {"Op": Op, "kst": kst, "st": st, "torch": torch, op.name: op.reference}
    names["op"] = op.reference
    exec(op.text, names)
    made = names[op.name]
    assert isinstance(made, Op)
    return made


def test_axes_of_one_size_in_an_example_are_one_axis() -> None:
    op = Op.from_example(matmul, torch.zeros(4, 8), torch.zeros(8, 6))
    assert op.axis_names() == {"size_4", "size_8", "size_6"}
    call = smallest(op)
    assert call["a"].shape[1] == call["b"].shape[0]


def test_axes_of_size_1_stay_apart() -> None:
    op = Op.from_example(torch.add, torch.zeros(1, 1), torch.zeros(1))
    assert len(op.axis_names()) == 3


def test_a_float_example_stands_for_all_float_types_and_others_for_themselves() -> None:
    assert Op.from_example(lambda x: x, torch.zeros(3)).dtypes() == tuple(kst.FLOATS)
    op = Op.from_example(lambda x: x, torch.zeros(3, dtype=torch.int8))
    assert smallest(op)["x"].dtype is torch.int8


def test_scalars_stay_as_in_the_example() -> None:
    op = Op.from_example(lambda x, eps: x + eps, torch.zeros(3), 1e-5)
    assert smallest(op)["eps"] == 1e-5


def test_labels_index_the_classes_though_they_would_fit_the_rows() -> None:
    op = Op.from_example(pick, torch.zeros(5, 4), torch.tensor([0, 3, 1, 2, 0]))
    call = find(op.calls(), lambda call: dict(call.axes)["size_4"] > 1 and call["labels"].shape[0] > 5)
    labels = call["labels"].build()
    assert labels.max() < dict(call.axes)["size_4"]


def test_entries_that_fit_no_axis_index_as_many_as_there_must_be() -> None:
    op = Op.from_example(pick, torch.zeros(5, 4), torch.tensor([90, 3, 1, 2, 0]))
    assert op.text is not None
    assert "into=91" in op.text


def test_a_negative_entry_is_the_mark_of_one_to_ignore() -> None:
    op = Op.from_example(pick, torch.zeros(5, 7), torch.tensor([0, -100, 1, 2, 0]))
    assert op.text is not None
    assert "ignore=-100" in op.text
    call = find(op.calls(), lambda call: bool((call["labels"].build() == -100).any()))
    assert "labels" in call


def test_integers_of_several_signs_are_data() -> None:
    op = Op.from_example(lambda x: x, torch.tensor([1, -2, -3]))
    assert op.text is not None
    assert "kst.tensors('size_3', dtypes=(torch.int64,))" in op.text


def test_a_bool_example_is_a_mask() -> None:
    op = Op.from_example(torch.where, torch.ones(3, dtype=torch.bool), torch.zeros(3), torch.zeros(3))
    assert op.text is not None
    assert "kst.masks('size_3')" in op.text
    assert smallest(op)[op.names[0]].dtype is torch.bool


@pytest.mark.parametrize(
    "op",
    [
        Op.from_example(matmul, torch.zeros(4, 8), torch.zeros(8, 6)),
        Op.from_example(pick, torch.zeros(5, 7), torch.tensor([0, -100, 1, 2, 0])),
        Op.from_example(torch.where, torch.ones(3, dtype=torch.bool), torch.zeros(3), torch.zeros(3)),
        Op.from_example(torch.add, torch.zeros(3, dtype=torch.int16), 2),
    ],
    ids=repr,
)
def test_the_text_of_an_inference_makes_the_same_calls(op: Op) -> None:
    assert smallest(from_text(op)) == smallest(op)


@pytest.mark.parametrize(("arguments", "words"), [((1,), "does not take"), ((torch.zeros(2), {}), "b is a dict")])
def test_an_example_that_does_not_fit_is_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Op.from_example(matmul, *arguments)


@pytest.mark.parametrize(
    ("x", "w"),
    [
        (annotated("Float", "rows cols"), annotated("Float", "cols")),
        ('Float[Tensor, "rows cols"]', "jaxtyping.Float[torch.Tensor, 'cols']"),
        ("""'Float[Tensor, "rows cols"]'""", "Float[Tensor, 'cols']"),
    ],
    ids=["jaxtyping", "strings", "quoted strings"],
)
def test_annotations_name_axes_and_dtypes(x: Any, w: Any) -> None:
    def scaled(x: Any, w: Any, causal: Any, factor: Any) -> Any:
        return x * w * factor

    scaled.__annotations__ = {"x": x, "w": w, "causal": bool, "factor": "float"}
    op = Op.from_annotations(scaled)
    assert op.axis_names() == {"rows", "cols"}
    assert op.names == ("x", "w", "causal", "factor")
    assert smallest(from_text(op)) == smallest(op)


def test_an_axis_of_an_annotation_may_be_a_number() -> None:
    def pairs(x: Any) -> Any:
        return x

    pairs.__annotations__ = {"x": "Int32[Tensor, 'n 2']"}
    assert smallest(Op.from_annotations(pairs))["x"].shape[1] == 2


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int, "annotate it as"),
        (annotated("Float", "*batch cols"), "no plain names"),
        (annotated("Complex64", "rows"), "annotate it as"),
        ("Tensor", "its annotation is 'Tensor'"),
        (None, "it has no annotation"),
    ],
)
def test_an_annotation_that_says_too_little_is_refused(hint: Any, words: str) -> None:
    def reference(x: Any) -> Any:
        return x

    reference.__annotations__ = {} if hint is None else {"x": hint}
    with pytest.raises(InvalidArgument, match=words):
        Op.from_annotations(reference)
