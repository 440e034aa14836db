"""What lanes draw and judge where promises, sizes and values leave them little."""

import pytest
import torch

import strategies as kst
from conformance import Op, case, check, memory
from conformance.faults import add_int32_offsets
from conformance.lanes import LANES
from conformance.ops import row_sum
from conformance.oracles import special_values
from conformance.promises import Promises
from conformance.trial import Trial
from strategies import Call, TensorDescription

FLOAT32 = (torch.float32,)
AXES = {"x": ("rows", "cols"), "w": ("cols",), "b": ("cols",)}


def test_a_kernel_with_short_offsets_and_bounded_axes_has_no_lane_of_offsets():
    op = Op(
        lambda x: x + 1,
        dict(x=kst.tensors("rows", "cols", dtypes=FLOAT32)),
        axes=dict(rows=kst.sizes(max=8), cols=kst.sizes(max=8)),
    )

    report = check(lambda x: x + 1, op, examples=2, offsets="int32")

    assert report.ok
    assert "offsets" not in [result.oracle for result in report.results]


def test_a_finding_of_huge_strides_takes_no_more_memory_than_there_is(monkeypatch):
    """As drawn, not shrunk, its rows lie 2**32 elements apart, which are shown without being allocated."""

    def small(elements, **options):
        assert elements < 2**24, f"{elements} elements"
        return plain(elements, **options)

    plain = memory._empty
    monkeypatch.setattr(memory, "_empty", small)
    fault = add_int32_offsets.fault

    report = check(fault.kernel, fault.op, oracles=["offsets"], dtypes=FLOAT32, stop_at_first=True)

    assert [finding.oracle for finding in report.findings] == ["offsets"]


def test_a_finite_value_where_only_overflow_makes_torch_infinite_is_right():
    """The variance overflows, its inverse root is 0, and the weight is no matter; in float64 nothing of it happens."""
    op = Op(
        lambda x, w, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b),
        {name: kst.tensors(*axes, dtypes=FLOAT32) for name, axes in AXES.items()},
        name="layer_norm",
    )
    call = Call(tuple((name, TensorDescription((2,) * len(axes), torch.float32)) for name, axes in AXES.items()))
    large = torch.finfo(torch.float32).max
    values = dict(
        x=torch.tensor([[1.0, 2.0], [large, 0.4]]), w=torch.tensor([0.1, large]), b=torch.tensor([1.0, -large / 2])
    )
    trial = Trial(op, lambda x, w, b: torch.stack([op.reference(x, w, b)[0], b]))

    assert special_values.check(trial, trial.launch(call, values=values)) == []
    values["x"][1, 0] = torch.inf
    assert special_values.check(trial, trial.launch(call, values=values))


def test_nan_where_a_sum_may_overflow_beside_an_infinity_is_right():
    op = Op(lambda x: (x / x.shape[-1]).sum(-1), dict(x=kst.tensors("n", dtypes=FLOAT32)), name="mean")
    trial = Trial(op, lambda x: x.sum(-1) / x.shape[-1])
    large = torch.finfo(torch.float32).max
    call = Call((("x", TensorDescription((3,), torch.float32)),))

    for values, right in ([large, large, -torch.inf], True), ([1.0, 2.0, -torch.inf], False):
        launch = trial.launch(call, values={"x": torch.tensor(values)})
        launch.outputs[0].fill_(torch.nan)
        assert (special_values.check(trial, launch) == []) is right


def test_a_finite_value_where_an_infinite_input_makes_torch_infinite_is_wrong():
    op = Op(lambda x: x * 2, dict(x=kst.tensors("n", dtypes=FLOAT32)), name="double")

    report = check(lambda x: torch.nan_to_num(x * 2), op, oracles=["special_values"])

    assert [finding.oracle for finding in report.findings] == ["special_values"]


def test_each_dtype_of_an_op_draws_calls_of_its_own_and_the_same_again():
    op = Op(lambda x: x + 1, dict(x=kst.tensors("rows", "cols", dtypes=(torch.float32, torch.float16))))

    def shapes(dtype):
        drawn = []

        def kernel(x):
            drawn.append(tuple(x.shape))
            return x + 1

        case.run(Trial(op, kernel), LANES["launch"], dtype, examples=20, seed=0)
        return drawn

    assert shapes(torch.float32) == shapes(torch.float32)
    assert set(shapes(torch.float32)) != set(shapes(torch.float16))


def raises(x):
    raise ValueError("not today")


@pytest.mark.parametrize("lane", ["exact", "determinism", "layouts", "batch_invariance", "configs", "relations"])
def test_a_lane_in_which_no_launch_ended_has_not_passed(lane):
    report = check(raises, row_sum, oracles=[lane], dtypes=FLOAT32, examples=20)

    assert [finding.oracle for finding in report.findings] == ["crash"]
    assert "not today" in report.findings[0].summary


def test_every_lane_fails_where_nothing_ends_and_the_reason_is_given_once():
    report = check(raises, row_sum, dtypes=FLOAT32, examples=5)

    failed = {result.oracle for result in report.results if result.status == "failed"}
    assert failed >= {"launch", "exact", "determinism", "layouts"}
    assert len({finding.summary for finding in report.findings}) == 1
    assert len(report.findings) < len(failed)


def test_a_lane_in_which_some_launches_end_is_judged_by_them():
    def some(x):
        if x.shape[0] > 3:
            raise ValueError("too many rows")
        return x.sum(-1)

    assert check(some, row_sum, oracles=["determinism"], dtypes=FLOAT32, examples=20).ok


def test_launches_that_are_to_be_refused_may_all_raise():
    op = Op(lambda x: x + 1, dict(x=kst.tensors("rows", "cols")), name="increment")

    assert check(
        raises, op, oracles=["refusals"], dtypes=[torch.float16], promises=Promises(dtypes=(torch.float16,))
    ).ok


def test_wrong_values_that_are_not_special_are_shown_once_and_as_such():
    op = Op(lambda x: x * 2, dict(x=kst.tensors("n", dtypes=FLOAT32)), name="double")

    both = check(lambda x: x * 2.001, op, oracles=["launch", "special_values"], examples=30)
    alone = check(lambda x: x * 2.001, op, oracles=["special_values"], examples=30)

    assert [finding.oracle for finding in both.findings] == ["accuracy"]
    assert [finding.oracle for finding in alone.findings] == ["accuracy"]
    assert [result.status for result in both.results] == ["failed", "failed"]


@pytest.mark.parametrize("takes_variance", [True, False])
def test_nan_for_the_mean_of_an_infinity_is_right_beside_a_variance(takes_variance):
    """Welford's mean is NaN behind an infinity, in torch.var_mean too."""

    def reference(x):
        mean = x.mean(0)
        return mean, (x - mean).square().mean(0) if takes_variance else x.abs().sum(0)

    def kernel(x):
        return torch.var_mean(x, 0)[1], reference(x)[1]

    op = Op(reference, dict(x=kst.tensors("n", dtypes=FLOAT32)), axes=dict(n=kst.sizes(min=1)), name="moments")
    trial = Trial(op, kernel)
    call = Call((("x", TensorDescription((4,), torch.float32)),))
    launch = trial.launch(call, values={"x": torch.tensor([1.0, torch.inf, 2.0, 3.0])})

    assert launch.outputs[0].isnan()
    assert (special_values.check(trial, launch) == []) is takes_variance
