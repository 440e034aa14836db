"""Long calls are for axes along which the reference of an op grows no faster than they do."""

import subprocess
import sys

import pytest
import torch

import strategies as kst
from conformance import Op, check, growth
from conformance.ops import attention, matmul, softmax


def scan(x):
    state, states = torch.zeros_like(x[0]), []
    for row in x:
        state = state * 0.5 + row
        states.append(state)
    return torch.stack(states)


def attend(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


qkv = {name: kst.tensors("batch", "tokens", "head") for name in ("q", "k", "v")}


@pytest.mark.parametrize(
    ("op", "linear", "not_linear"),
    [
        (softmax, {"rows", "cols"}, set()),
        (matmul, {"m", "n", "k"}, set()),
        (attention, {"queries", "keys", "head", "width"}, set()),
        (Op(attend, qkv), {"batch", "head"}, {"tokens"}),
        (Op(lambda x: x @ x.T, dict(x=kst.tensors("n", "d"))), {"d"}, {"n"}),
        (Op(scan, dict(x=kst.tensors("time", "d")), axes=dict(time=kst.sizes(min=1))), {"d"}, {"time"}),
        (Op(lambda x: x.reshape(-1, 48)[:9], dict(x=kst.tensors("n"))), set(), {"n"}),
    ],
    ids=lambda value: value.name if isinstance(value, Op) else "",
)
def test_an_axis_is_long_where_the_work_of_the_reference_grows_with_it_and_no_faster(op, linear, not_linear):
    assert {name for name in linear | not_linear if growth.is_linear(op, name)} == linear
    assert set(op.calls().long) == linear


def test_a_promised_limit_bounds_an_axis_that_the_op_describes_too():
    op = Op(lambda x: x + 1, dict(x=kst.tensors("rows", "cols")), axes=dict(cols=kst.sizes(min=1)))

    assert op.calls(limits={"cols": 1024}).long == ("rows",)
    assert set(op.calls(limits={"cols": 8192}).long) == {"rows", "cols"}


def capped(x):
    out = torch.empty_like(x)
    out[:, :2048] = torch.softmax(x, -1)[:, :2048]
    return out


def test_a_row_that_is_capped_is_found_without_sizes_of_the_author():
    report = check(capped, softmax, dtypes=[torch.float32], oracles=["launch"], examples=200)

    assert {finding.oracle for finding in report.findings} & {"written", "accuracy"}
    assert {tuple(f.call["axes"].values()) for f in report.findings} == {(2049, 1)}


def test_looking_at_the_work_of_a_reference_does_not_load_a_compiler():
    lines = [
        "import sys, conformance.ops",
        "conformance.ops.softmax.calls()",
        "sys.exit('torch._dynamo' in sys.modules)",
    ]

    assert subprocess.run([sys.executable, "-c", "; ".join(lines)], check=False).returncode == 0
