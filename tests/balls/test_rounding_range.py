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
