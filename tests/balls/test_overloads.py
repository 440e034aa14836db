"""Torch calls whose C argument parser chooses between overloads: a ball reaches it, and nothing may crash."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

# a call a line; each has an overload that takes a tensor and one that takes a number
CALLS = """
torch.where(x > 0, x, 0.0)
torch.where(x > 0, x, 0)
torch.where(x > 0, 1.0, x)
torch.where(x > 0, x, x)
torch.pow(x.abs() + 1, 2.0)
torch.pow(2.0, x)
torch.pow(x, 2)
torch.remainder(x, 2.0)
torch.remainder(2.0, x.abs() + 1)
torch.fmod(x, 2.0)
torch.xlogy(x.abs(), 2.0)
torch.xlogy(2.0, x.abs() + 1)
torch.float_power(x.abs() + 1, 2)
torch.float_power(2.0, x)
torch.add(x, 1.0)
torch.add(x, 1, alpha=2)
torch.sub(x, 1.0)
torch.mul(x, 2.0)
torch.div(x, 2.0)
torch.div(x, 2.0, rounding_mode="floor")
torch.true_divide(x, 3)
torch.floor_divide(x, 2.0)
torch.eq(x, 0.0)
torch.lt(x, 0.0)
torch.clamp(x, 0.0, 1.0)
torch.clamp(x, min=x.flip(0))
torch.clamp_min(x, 0.0)
torch.masked_fill(x, x > 0, 0.0)
torch.lerp(x, x, 0.5)
torch.lerp(x, x, x)
torch.copysign(x, 1.0)
torch.heaviside(x, torch.ones_like(x))
torch.special.zeta(x.abs() + 2, 1.0)
torch.index_fill(x, 0, torch.tensor([0]), 0.0)
torch.full_like(x, 2.0)
torch.norm(x, 2.0)
torch.sum(x, 0)
torch.max(x, 0)
torch.max(x, x)
torch.mean(x)
x.where(x > 0, 0.0)
x.pow(2.0)
x.remainder(2.0)
x.float_power(2)
torch.arange(8.0) * x
torch.arange(8).add(x)
"""


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_calls_that_mix_balls_and_numbers_do_not_crash_the_process(dtype: str) -> None:
    script = textwrap.dedent(
        """
        import sys
        import torch
        from conformance.balls import enclose
        from conformance.promises import Promises

        x = torch.randn(3, 8, generator=torch.Generator().manual_seed(0)).to(getattr(torch, sys.argv[1]))
        for line in sys.stdin.read().strip().splitlines():
            print(line, flush=True)  # the last line names the call that crashed
            reference = eval("lambda x: " + line)
            for _ in range(5):
                balls = enclose(reference, [x], Promises())
            exact = reference(x.double())
            exact = [exact] if isinstance(exact, torch.Tensor) else list(exact)
            for ball, value in zip(balls, exact, strict=True):
                assert ball.shape == tuple(value.shape), line
                off = abs(ball.mid.astype(float) - value.double().numpy())
                assert (off <= ball.rad.astype(float) + 1e-6 * abs(ball.mid.astype(float)) + 1e-12).all(), line
        print("done")
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, dtype], input=CALLS, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-200:], done.stderr[-2000:])
    assert done.stdout.endswith("done\n")
