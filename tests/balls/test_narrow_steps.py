"""What a reference computes in a half and widens: torch rounds it in between, and a kernel may or may not."""

import pytest
import torch

from conformance import balls
from conformance.promises import Promises


def residual(x, r):
    h = x + r
    return h.float() * torch.rsqrt(h.float().square().mean(-1, keepdim=True) + 1e-6)


def late(x, r):
    h = x.float() + r.float()
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("computed", [residual, late])
def test_both_the_rounded_and_the_unrounded_step_lie_inside(computed, dtype):
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        x, r = (torch.randn(4, 8, generator=generator).to(dtype) for _ in range(2))
        (ball,) = balls.enclose(residual, [x, r], Promises())

        assert balls.judge(computed(x, r), ball, Promises()).ok


def test_an_argument_that_is_widened_stays_exact():
    (ball,) = balls.enclose(lambda x: x.float(), [torch.tensor([0.1, 3.0]).half()], Promises())

    assert ball.rad is None or not ball.rad.any()
