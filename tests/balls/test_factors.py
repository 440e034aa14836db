"""Products of several factors: a kernel multiplies in the order it likes."""

import pytest
import torch

from conformance import balls
from conformance.promises import Promises


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_factors_may_be_multiplied_in_any_order_where_a_product_underflows(dtype):
    form = torch.finfo(dtype)
    x = torch.tensor([1.375, 3.0, -5.0], dtype=dtype) * form.smallest_normal * 2**-10
    small, large = torch.tensor(0.3, dtype=dtype), torch.tensor(1000.0, dtype=dtype)
    (ball,) = balls.enclose(lambda x, a, b: x * a * b, [x, large, small], Promises())
    other = x * small * large
    assert (other != x * large * small).any()
    assert balls.judge(other, ball, Promises()).ok
    assert not balls.judge(other * 1.01, ball, Promises()).ok
    many = [torch.tensor(v, dtype=dtype) for v in (0.9, 0.8, 0.03)]
    (ball,) = balls.enclose(lambda x, a, b, c: x * c * b * a, [x, *many], Promises())
    assert balls.judge(x * many[0] * many[1] * many[2], ball, Promises()).ok


def test_scales_may_be_factored_out_of_a_product():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-99, 99, (30, 4), generator=generator).float() for _ in range(2))
    s, t = (torch.rand(30, 1, generator=generator) for _ in range(2))
    (ball,) = balls.enclose(lambda a, b, s, t: (a * s) @ (b * t).T, [a[:, :1], b[:, :1], s, t], Promises())
    result = (a[:, :1] @ b[:, :1].T) * s * t.T
    assert balls.judge(result, ball, Promises()).ok
    assert not balls.judge(result * (1 + 2.0**-20), ball, Promises()).ok
    (ball,) = balls.enclose(lambda a, b, s: (a * s) * b, [a, b, s], Promises())
    assert balls.judge(a * (b * s), ball, Promises()).ok
