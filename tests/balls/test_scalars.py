"""Float arguments: a kernel computes with them in its own dtype, where `1 - p` cancels."""

import numpy as np
import pytest
import torch

from conformance import balls
from conformance.balls.scalars import Scalar
from conformance.promises import Promises

FORMULAS = {
    "1 - p": lambda p: 1 - p,
    "1 / (1 - p)": lambda p: 1 / (1 - p),
    "p * p - p": lambda p: p * p - p,
    "(p + 2) / (p + 1)": lambda p: (p + 2) / (p + 1),
    "-p + 3": lambda p: -p + 3,
    "2 * abs(-p)": lambda p: 2 * abs(-p),
    "p - 1": lambda p: p - 1,
}
VALUES = (0.9, 0.999, 0.1, 0.5, 1e-6, 0.99999, 3.7, 1e30)


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_a_kernel_may_compute_a_scalar_in_float32_or_take_it_from_the_host(formula):
    for value in VALUES:
        x = torch.tensor([3.0])
        (ball,) = balls.enclose(lambda x, p: x * formula(p), (x, value), Promises())
        with np.errstate(over="ignore", invalid="ignore"):
            for scalar in (formula(np.float32(value)), np.float32(formula(value))):
                assert balls.judge(x * torch.tensor(scalar, dtype=torch.float32), ball, Promises()).ok, value


def test_a_scalar_off_by_more_than_its_rounding_is_wrong():
    x = torch.tensor([3.0])
    (ball,) = balls.enclose(lambda x, p: x / (1 - p), (x, 0.9), Promises())
    assert not balls.judge(x / 0.1 * (1 + 2e-6), ball, Promises()).ok


def test_what_float32_holds_exactly_has_no_radius():
    half = Scalar(0.5, np.float32, 2.0**-24)
    assert half.radius == (1 - half).radius == (half * 4 + 1).radius == 0
    assert type(1 - half) is Scalar


def test_a_kernel_in_float64_gets_its_scalars_in_float64():
    x = torch.tensor([1.0], dtype=torch.float64)
    (ball,) = balls.enclose(lambda x, p: x * (1 - p), (x, 0.9), Promises())
    assert not balls.judge(x * float(1 - np.float32(0.9)), ball, Promises()).ok
