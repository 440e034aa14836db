"""One ball over a wide range of magnitudes: overflow of one element takes nothing from the others."""

import pytest
import torch

from conformance import balls
from conformance.promises import Promises


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize(
    "operation",
    [lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x + y, lambda x, y: x * 0.5, lambda x, y: x / 1024],
    ids=["mul", "div", "add", "half", "power"],
)
def test_elementwise_results_over_the_whole_range_are_inside(dtype, operation):
    top = torch.log2(torch.tensor(torch.finfo(dtype).max, dtype=torch.float64))
    for seed in range(40):
        generator = torch.Generator().manual_seed(seed)
        exponents = (torch.rand(2, 64, generator=generator, dtype=torch.float64) * 2 - 1) * top
        x, y = ((1 + torch.rand(2, 64, generator=generator, dtype=torch.float64)) * torch.exp2(exponents)).to(dtype)
        (ball,) = balls.enclose(operation, [x, y], Promises())

        assert balls.judge(operation(x.float(), y.float()).to(dtype), ball, Promises()).ok


def test_what_may_be_zero_times_an_infinite_weight_is_undecided():
    def reference(x, w):
        return torch.nn.functional.layer_norm(x, (3,), w, None, 1e-5)

    x, w = torch.full((2, 3), 0.729), torch.tensor([float("inf"), 1.0, 2.0])
    (ball,) = balls.enclose(reference, [x, w], Promises())

    assert balls.undecided(ball)[:, 0].all()
    assert not balls.undecided(ball)[:, 1:].any()


def test_a_computed_operand_may_be_scaled_after_the_product():
    def reference(x, v):
        return torch.softmax(x, -1) @ v

    x, v = torch.zeros(2, 8), torch.full((8, 1), 1e38)
    (ball,) = balls.enclose(reference, [x, v], Promises())

    assert balls.undecided(ball).all()


def test_a_product_below_the_smallest_float64_may_be_zero() -> None:
    a = torch.tensor([[2.0**-540]], dtype=torch.float64)
    promises = Promises()
    for reference in (lambda a: a @ a, lambda a: torch.einsum("ij,jk->ik", a, a), lambda a: a * a):
        (ball,) = balls.enclose(reference, [a], promises)
        assert balls.judge(torch.zeros(1, 1, dtype=torch.float64), ball, promises).ok
        assert not balls.judge(torch.full((1, 1), 1e-323, dtype=torch.float64), ball, promises).ok


def test_a_bfloat16_product_may_underflow_before_it_is_added() -> None:
    promises = Promises(compute=torch.bfloat16)
    x, y = (torch.tensor([v], dtype=torch.bfloat16) for v in (1e-38, 3e-3))
    (ball,) = balls.enclose(lambda x, y: x * y + x * y, [x, y], promises)
    assert balls.judge(x * y + x * y, ball, promises).ok
