"""Sums that start with another term, such as a bias: a kernel may have it in its accumulator first."""

import pytest
import torch

from conformance import balls
from conformance.promises import Promises

A, B = torch.full((3, 40), 0.1), torch.full((40, 3), 0.1)
BIAS, RESIDUAL = torch.tensor([1000.0, -3.0, 1.0e4]), torch.full((3, 3), 77.0)
REFERENCES = {
    "a product plus a bias": lambda bias, residual: A @ B + bias,
    "a bias plus a product": lambda bias, residual: bias + A @ B,
    "less a bias": lambda bias, residual: A @ B - -bias,
    "addmm": lambda bias, residual: torch.addmm(bias, A, B),
    "linear": lambda bias, residual: torch.nn.functional.linear(A, B.T, bias),
    "linear of nothing": lambda bias, residual: torch.nn.functional.linear(A[:, :0], B.T[:, :0], bias),
    "a product of nothing": lambda bias, residual: A[:, :0] @ B[:0] + bias,
    "a bias and a residual": lambda bias, residual: A @ B + bias + residual,
}


def accumulated(start, terms):
    out = start.expand(3, 3).clone()
    for k in range(terms):
        out += A[:, k : k + 1] * B[k]
    return out


@pytest.mark.parametrize("name", REFERENCES)
def test_a_kernel_may_start_its_accumulator_with_the_bias(name):
    (ball,) = balls.enclose(REFERENCES[name], [BIAS, RESIDUAL], Promises())
    start = BIAS + RESIDUAL if "residual" in name else BIAS
    result = accumulated(start, 0 if "nothing" in name else A.shape[1])
    assert balls.judge(result, ball, Promises()).ok
    assert not balls.judge(result * (1 + 2.0**-14), ball, Promises()).ok


def test_exact_products_cancel_in_an_accumulator_that_starts_with_the_bias():
    a, b = torch.tensor([[1024.0, -1024.0]]), torch.ones(2, 1)
    (ball,) = balls.enclose(lambda bias: a @ b + bias, [torch.tensor([0.1])], Promises())
    assert balls.judge(torch.tensor([[0.1]]) + 1024.0 - 1024.0, ball, Promises()).ok


def test_what_is_written_over_a_product_is_no_product():
    def reference(bias):
        product = A @ B
        product.zero_()
        return product + bias

    (ball,) = balls.enclose(reference, [BIAS], Promises())
    # more than one rounding is off, less than forty
    assert not balls.judge(BIAS.expand(3, 3) * (1 + 2.0**-21), ball, Promises()).ok
