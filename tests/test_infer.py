from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import find
from hypothesis.errors import InvalidArgument

import strategies as kst
from conformance.infer import from_annotations, from_example


def matmul(a: Any, b: Any, *, scale: Any = 1.0) -> Any:
    return a @ b * scale


def annotated(kind: str, axes: str) -> type:
    """What jaxtyping makes of `Kind[Tensor, axes]`, as far as we read it."""
    return type(f"{kind}[Tensor, {axes!r}]", (), {"dim_str": axes})


def test_axes_of_one_size_in_an_example_are_one_axis() -> None:
    op = from_example(matmul, torch.zeros(4, 8), torch.zeros(8, 6))
    assert op.axis_names() == {"size_4", "size_8", "size_6"}
    call = find(op.calls(), lambda call: True)
    assert call["a"].shape[1] == call["b"].shape[0]


def test_axes_of_size_1_stay_apart() -> None:
    op = from_example(torch.add, torch.zeros(1, 1), torch.zeros(1))
    assert len(op.axis_names()) == 3


def test_a_float_example_stands_for_all_float_types_and_others_for_themselves() -> None:
    assert from_example(lambda x: x, torch.zeros(3)).dtypes() == tuple(kst.FLOATS)


def test_scalars_stay_as_in_the_example() -> None:
    op = from_example(lambda x, eps: x + eps, torch.zeros(3), 1e-5)
    assert find(op.calls(), lambda call: True)["eps"] == 1e-5


@pytest.mark.parametrize(("arguments", "words"), [((1,), "does not take"), ((torch.zeros(2), {}), "b is a dict")])
def test_an_example_that_does_not_fit_is_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        from_example(matmul, *arguments)


def test_annotations_name_axes_and_dtypes() -> None:
    def reference(x: Any, w: Any, causal: bool) -> Any:
        return x * w

    reference.__annotations__ = {"x": annotated("Float", "rows cols"), "w": annotated("Float", "cols"), "causal": bool}
    op = from_annotations(reference, name="scaled")
    assert op.axis_names() == {"rows", "cols"}
    assert op.names == ("x", "w", "causal")


@pytest.mark.parametrize(
    ("hint", "words"),
    [(int, "annotate it as"), (annotated("Float", "*batch cols"), "no plain names"), (None, "annotate")],
)
def test_an_annotation_that_says_too_little_is_refused(hint: Any, words: str) -> None:
    def reference(x: Any) -> Any:
        return x

    reference.__annotations__ = {} if hint is None else {"x": hint}
    with pytest.raises(InvalidArgument, match=words):
        from_annotations(reference)
