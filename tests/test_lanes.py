"""What lanes draw and judge where promises, sizes and values leave them little."""

import torch

import strategies as kst
from conformance import Op, check

FLOAT32 = (torch.float32,)


def test_a_kernel_with_short_offsets_and_bounded_axes_has_no_lane_of_offsets():
    op = Op(
        lambda x: x + 1,
        dict(x=kst.tensors("rows", "cols", dtypes=FLOAT32)),
        axes=dict(rows=kst.sizes(max=8), cols=kst.sizes(max=8)),
    )

    report = check(lambda x: x + 1, op, examples=2, offsets="int32")

    assert report.ok
    assert "offsets" not in [result.oracle for result in report.results]


def test_a_finite_value_where_only_overflow_makes_torch_infinite_is_right():
    def scale(x, w):  # what a norm does: the variance overflows, and its inverse root is 0
        return x / torch.sqrt((x * x).mean(-1, keepdim=True)) * w

    op = Op(scale, dict(x=kst.tensors("rows", "cols", dtypes=FLOAT32), w=kst.tensors("cols", dtypes=FLOAT32)))

    def kernel(x, w):
        result = scale(x, w)
        overflowed = (
            torch.isfinite(x).all(-1, keepdim=True) & torch.isfinite(w) & ~torch.isfinite((x * x).mean(-1))[:, None]
        )
        return torch.where(overflowed, torch.zeros_like(result), result)

    assert check(kernel, op, oracles=["special_values"]).ok


def test_a_finite_value_where_an_infinite_input_makes_torch_infinite_is_wrong():
    op = Op(lambda x: x * 2, dict(x=kst.tensors("n", dtypes=FLOAT32)), name="double")

    report = check(lambda x: torch.nan_to_num(x * 2), op, oracles=["special_values"])

    assert [finding.oracle for finding in report.findings] == ["special_values"]
