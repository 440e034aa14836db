"""Variance and mean by Welford's method, one element after another or in parts, are right; E[x²] - E[x]² is not."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own alias

from conformance import balls
from conformance.promises import Promises

# means that dwarf the deviations, sums that cancel, and ordinary data
ROWS = {
    "offset": lambda g, n: 2000 + torch.rand(n, generator=g),
    "opposite": lambda g, n: torch.tensor([1.3, -1.3 - 3e-7]).repeat(n)[:n],
    "normal": lambda g, n: torch.randn(n, generator=g),
}


def update(x):
    """Mean and sum of squared deviations, element by element, in float32."""
    mean, square = np.float32(0), np.float32(0)
    for count, value in enumerate(x.numpy(), 1):
        delta = value - mean
        mean = mean + delta / np.float32(count)
        square = square + delta * (value - mean)
    return mean, square, np.float32(len(x))


def merge(one, other):
    """Mean and sum of squares of two parts."""
    (m1, s1, n1), (m2, s2, n2) = one, other
    delta, share = m2 - m1, n2 / (n1 + n2)
    return m1 + delta * share, s1 + s2 + delta * delta * n1 * share, n1 + n2


def in_parts(x):
    """The same by merging halves."""
    if len(x) == 1:
        return np.float32(x[0]), np.float32(0), np.float32(1)
    return merge(in_parts(x[: len(x) // 2]), in_parts(x[len(x) // 2 :]))


@pytest.mark.parametrize("method", [update, in_parts])
@pytest.mark.parametrize("data", ROWS)
def test_var_mean_and_layer_norm_of_welford_lie_in_their_balls(data, method):
    generator = torch.Generator().manual_seed(0)
    for n in (2, 3, 4, 5, 17, 64, 257):
        x = ROWS[data](generator, n).float()
        variance, mean = balls.enclose(lambda x: torch.var_mean(x, dim=0), [x], Promises())
        (normalised,) = balls.enclose(lambda x: F.layer_norm(x, (x.shape[0],)), [x], Promises())
        m, square, _ = method(x)
        for got, ball in (
            (torch.tensor(square / np.float32(n - 1)), variance),
            (torch.tensor(m), mean),
            ((x - float(m)) * torch.rsqrt(torch.tensor(square / np.float32(n)) + 1e-5), normalised),
        ):
            verdict = balls.judge(got, ball, Promises())
            assert verdict.ok, (n, str(verdict))


def test_the_difference_of_two_means_is_still_no_variance():
    x = ROWS["offset"](torch.Generator().manual_seed(0), 64).float()
    (variance,) = balls.enclose(lambda x: torch.var(x, dim=0, unbiased=False), [x], Promises())
    assert not balls.judge((x * x).mean() - x.mean() ** 2, variance, Promises()).ok


def test_a_group_norm_of_no_images_has_a_ball():
    (ball,) = balls.enclose(lambda x: F.group_norm(x, 2), [torch.zeros(0, 4, 3)], Promises())
    assert ball.shape == (0, 4, 3)
