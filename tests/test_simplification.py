"""The numbers of a failing call become simple, and the simple call still fails."""

from __future__ import annotations

import pytest
import torch

import strategies as kst
from conformance import Op, check, faults
from conformance.oracles.bits import differing
from conformance.replay import replay
from conformance.simplification import simplify
from strategies import Call, TensorDescription
from strategies.values import Values

ROWS = Op(lambda x: x.sum(-1), {"x": kst.tensors("rows", "cols")}, name="row_sum")


def called(x: torch.Tensor, **axes: int) -> Call:
    description = TensorDescription(tuple(x.shape), x.dtype, values=Values.literal(x))
    return Call((("x", description),), tuple(axes.items()) or (("rows", x.shape[0]), ("cols", x.shape[1])))


def filled(call: Call, name: str = "x") -> torch.Tensor:
    return call.tensors[name].fill()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_literal_holds_every_number(dtype: torch.dtype) -> None:
    x = torch.tensor([[0.1, -0.0, float("inf")], [float("nan"), 3e-5, -7.0]]).to(dtype)
    call = called(x)
    again = Call.from_json(call.to_json())
    assert again == call
    assert differing(filled(again), x) is None


def test_what_does_not_matter_becomes_zero_and_what_matters_short() -> None:
    x = torch.randn(4, 12, generator=torch.Generator().manual_seed(0))
    x[2, 7] = 1000.123
    simplest = filled(simplify(ROWS, called(x), lambda call: bool((filled(call) > 900).any())))
    assert simplest.tolist() == [[1000.0]]


def test_sizes_that_matter_stay() -> None:
    x = torch.randn(3, 9, generator=torch.Generator().manual_seed(0))
    simplest = simplify(ROWS, called(x), lambda call: call.sizes["cols"] >= 5)
    assert filled(simplest).tolist() == [[0.0] * 5]
    assert simplest.sizes == {"rows": 1, "cols": 5}


def test_nothing_changes_where_nothing_simpler_fails() -> None:
    call = called(torch.tensor([[0.1]]))
    assert simplify(ROWS, call, lambda other: other == call) == call


def test_values_of_a_domain_and_axes_with_a_relation_are_left_alone() -> None:
    op = Op(
        lambda x: x.sqrt(),
        {"x": kst.tensors("rows", "cols", domain=kst.positive())},
        axes={"cols": kst.multiple_of("rows")},
        name="root",
    )
    x = TensorDescription((2, 4), torch.float32, values=Values("random", "normal", 3, domain=kst.positive()))
    call = Call((("x", x),), (("rows", 2), ("cols", 4)))
    assert simplify(op, call, lambda other: True) == call


def test_a_finding_has_the_simple_call_and_replays() -> None:
    fault = next(f for f in faults.FAULTS if f.name == "layer_norm_one_pass_variance")
    report = check(fault.kernel, fault.op, oracles=["launch"], dtypes=[torch.float32], **fault.promises)
    (finding,) = report.findings
    x, w, b = (Call.from_json(finding.call).tensors[name].fill() for name in "xwb")
    assert "torch.tensor([[" in finding.script
    assert bool((w * 8 == (w * 8).round()).all())
    assert bool((b == 0).all())
    assert x.numel() <= 8
    assert replay(finding, fault.kernel, fault.op, **fault.promises)
    assert fault.fixed is not None
    assert not replay(finding, fault.fixed, fault.op, **fault.promises)
