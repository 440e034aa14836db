"""Eight-bit floats, which torch can neither add nor test: every lane takes them, as arguments and as results."""

import pytest
import torch

import strategies as kst
from conformance import Op, check
from conformance.relations import doubling, negation, permutation

ROWS = ("rows", "cols")
WIDEN = Op(
    lambda x: x.float() * 2,
    dict(x=kst.tensors(*ROWS, dtypes=kst.FLOAT8S)),
    independent="rows",
    exact=True,
    relations=[permutation("rows"), negation("x"), doubling("x")],
    name="widen",
)
COPY = Op(
    lambda x: x.clone(),
    dict(x=kst.tensors(*ROWS, dtypes=kst.FLOAT8S)),
    independent="rows",
    exact=True,
    relations=[permutation("rows"), negation("x"), doubling("x")],
    name="copy",
)
NARROW = Op(lambda x: x.to(torch.float8_e4m3fn), dict(x=kst.tensors(*ROWS, dtypes=kst.HALVES)), name="narrow")
CASES = {
    "widen": (WIDEN, lambda x: x.float() * 2, lambda x: x.float() * 2.5),
    "copy": (COPY, lambda x: x.clone(), lambda x: (x.float() + 1).to(x.dtype)),
    "narrow": (NARROW, lambda x: x.to(torch.float8_e4m3fn), lambda x: (x * 1.25).to(torch.float8_e4m3fn)),
}


@pytest.mark.parametrize("name", CASES)
def test_no_lane_stumbles_over_float8(name):
    op, right, wrong = CASES[name]
    assert not check(right, op, examples=20).findings
    for lane in ("launch", "special_values"):
        assert "accuracy" in {f.oracle for f in check(wrong, op, examples=20, oracles=[lane]).findings}
