"""The verdict on an output: rounding of the store, overflow, special values, undecided elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own alias

from conformance.balls import enclose, judge
from conformance.promises import Promises

INF, NAN = math.inf, math.nan
PLAIN = Promises()


def softmax(x: Any) -> Any:
    return torch.softmax(x, -1)


def verdict_of(reference: Any, args: list[Any], got: torch.Tensor, promises: Promises = PLAIN) -> Any:
    (ball,) = enclose(reference, args, promises)
    return judge(got, ball, promises)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_the_store_rounds_to_nearest(dtype: torch.dtype) -> None:
    x = torch.rand(256, generator=torch.Generator().manual_seed(0)) + 0.5
    (ball,) = enclose(lambda x: x * 1.0, [x], PLAIN, out_dtypes=[dtype])
    assert judge(x.to(dtype), ball, PLAIN).ok
    step = torch.finfo(dtype).eps
    below = torch.floor(x.double() / step / 2) * step * 2  # drops the last bit and more
    assert not judge(below.to(dtype), ball, PLAIN).ok


def test_a_value_one_unit_off_is_wrong_in_the_compute_dtype() -> None:
    x = torch.rand(64) + 1
    off = torch.nextafter(x + x, torch.tensor(INF))
    verdict = verdict_of(lambda x: x + x, [x], off)
    assert not verdict.ok
    assert verdict.ulp == 1.0
    assert verdict.ratio == INF


def test_the_least_float_is_wrong_where_zero_is_exact() -> None:
    x = torch.ones(3, dtype=torch.float64)
    verdict = verdict_of(lambda x: x * 0, [x], torch.tensor([0.0, 5e-324, 0.0], dtype=torch.float64))
    assert verdict.wrong.tolist() == [1]
    assert verdict.ratio == INF


def test_the_verdict_names_the_worst_element() -> None:
    x = torch.ones(3, 5)
    got = x.clone()
    got[2, 1] = 1.5
    verdict = verdict_of(lambda x: x * 1, [x], got)
    assert verdict.index == (2, 1)
    assert (verdict.got, verdict.exact) == (1.5, 1.0)
    assert verdict.wrong.tolist() == [11]
    assert "got 1.5" in str(verdict)


@pytest.mark.parametrize(
    "row",
    [
        [1.0, NAN, 3.0], [1.0, INF, 3.0], [INF, INF, 1.0], [1.0, -INF, 3.0], [-INF] * 3, [INF, -INF, 0.0],
        [-0.0] * 3, [5.0], [7.0, 7.0, 7.0], [1e-40, 2e-40, -1e-40], [3e38, 3e38, -3e38],
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize(
    "reference",
    [
        softmax, lambda x: F.rms_norm(x, (x.shape[-1],), None, 1e-6), lambda x: F.layer_norm(x, (x.shape[-1],)),
        lambda x: x.sum(-1), lambda x: x @ x, lambda x: torch.logsumexp(x, -1), F.silu, F.gelu, lambda x: x.amax(-1),
        lambda x: torch.log_softmax(x, -1), torch.sigmoid, lambda x: x / x, torch.exp, lambda x: x.cumsum(-1),
    ],
    ids=["softmax", "rms_norm", "layer_norm", "sum", "dot", "logsumexp", "silu", "gelu", "amax", "log_softmax",
         "sigmoid", "div", "exp", "cumsum"],
)  # fmt: skip
def test_special_values_have_the_class_that_torch_gives(reference: Any, row: list[float]) -> None:
    x = torch.tensor(row)
    single, wide = reference(x), reference(x.double()).float()
    # vectorized float32 kernels of torch make NaN of infinity (gelu, with AVX-512), which its float64 ones do not
    got = torch.where(torch.isnan(single), wide, single)
    verdict = verdict_of(reference, [x], got)
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_may_overflow_where_twice_its_argument_does(approximate: str) -> None:
    x = torch.tensor([3e38, 1e38])
    for got, right in (([INF, 1e38], True), ([3e38, 1e38], True), ([3e38, INF], False)):
        verdict = verdict_of(lambda x: F.gelu(x, approximate=approximate), [x], torch.tensor(got))
        assert verdict.ok is right, str(verdict)


def test_a_nan_where_the_exact_value_is_finite_is_wrong() -> None:
    x = torch.tensor([1.0, 2.0])
    verdict = verdict_of(softmax, [x], torch.tensor([NAN, 0.7310586]))
    assert not verdict.ok
    assert verdict.ratio == INF


def test_a_number_where_the_exact_value_is_nan_is_wrong_unless_nan_is_ignored() -> None:
    x = torch.tensor([1.0, NAN])
    got = torch.tensor(1.0)
    assert not verdict_of(lambda x: x.amax(-1), [x], got).ok
    assert verdict_of(lambda x: x.amax(-1), [x], got, Promises(nan="ignore")).ok


def test_infinity_of_the_wrong_sign_is_wrong() -> None:
    x = torch.tensor([1.0, 0.0])
    assert verdict_of(lambda x: 1 / x, [x], torch.tensor([1.0, INF])).ok
    assert not verdict_of(lambda x: 1 / x, [x], torch.tensor([1.0, -INF])).ok


def test_a_fully_masked_row_is_nan_or_zero_as_promised() -> None:
    x = torch.full((1, 4), -INF)
    assert verdict_of(softmax, [x], torch.full((1, 4), NAN)).ok
    assert not verdict_of(softmax, [x], torch.zeros(1, 4)).ok
    assert verdict_of(softmax, [x], torch.zeros(1, 4), Promises(all_masked="zero")).ok


@pytest.mark.parametrize(("value", "allowed"), [(65519.0, [65504.0]), (65520.0, [65504.0, INF]), (7e4, [INF])])
def test_a_store_overflows_at_the_rounding_threshold(value: float, allowed: list[float]) -> None:
    x = torch.tensor([value])
    (ball,) = enclose(lambda x: x * 1, [x], PLAIN, out_dtypes=[torch.float16])
    for got in (65504.0, INF, -INF, NAN):
        assert judge(torch.tensor([got], dtype=torch.float16), ball, PLAIN).ok is (got in allowed), got


def test_a_saturating_store_gives_the_largest_value() -> None:
    x = torch.tensor([1e5, -1e5])
    promises = Promises(overflow="saturate")
    (ball,) = enclose(lambda x: x * 1, [x], promises, out_dtypes=[torch.float16])
    assert judge(torch.tensor([65504.0, -65504.0]).half(), ball, promises).ok
    assert not judge(torch.tensor([INF, -INF]).half(), ball, promises).ok


def test_what_the_compute_dtype_cannot_promise_is_undecided_and_counted() -> None:
    x = torch.tensor([[3e38, 1.0], [2.0, 1.0]])
    reference = lambda x: F.rms_norm(x, (2,), None, 1e-6)  # noqa: E731
    verdict = verdict_of(reference, [x], reference(x))
    assert verdict.ok
    assert (verdict.undecided, verdict.total) == (2, 4)


def test_an_empty_output_is_right() -> None:
    x = torch.zeros(0, 3)
    assert verdict_of(softmax, [x], x).ok
    assert verdict_of(lambda x: x.sum(-1), [torch.zeros(2, 0)], torch.zeros(2)).ok
    assert verdict_of(lambda a: a @ a.T, [torch.zeros(2, 0)], torch.zeros(2, 2)).ok


def test_integer_outputs_are_compared_exactly() -> None:
    x = torch.tensor([3.0, 1.0, 2.0])
    assert verdict_of(lambda x: x.argmax(-1), [x], torch.tensor(0)).ok
    verdict = verdict_of(lambda x: x.argmax(-1), [x], torch.tensor(2))
    assert not verdict.ok
    assert verdict.ulp == 2


def test_a_shape_that_differs_is_refused() -> None:
    (ball,) = enclose(softmax, [torch.ones(2, 3)], PLAIN)
    with pytest.raises(ValueError, match="shape"):
        judge(torch.ones(3, 2), ball, PLAIN)


def test_float64_is_judged_beyond_its_own_precision() -> None:
    x = torch.rand(100, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) + 1
    got = x * x
    assert verdict_of(lambda x: x * x, [x], got).ok
    if np.finfo(np.longdouble).nmant > 52:
        assert not verdict_of(lambda x: x * x, [x], torch.nextafter(got, torch.zeros(()).double())).ok
