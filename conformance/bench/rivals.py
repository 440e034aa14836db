"""The tolerances in use elsewhere, against which the bounds are compared. The only typed tolerances in this project.

Each rival compares a kernel's output with torch in the same dtype, as it does in its own tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

# torch.testing.assert_close: (rtol, atol) by dtype, from its documentation
ASSERT_CLOSE = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}

# Liger-Kernel, test/transformers/test_{softmax,rms_norm,layer_norm}.py: (rtol, atol)
LIGER = {
    ("softmax", torch.float32): (1e-5, 1e-5),
    ("softmax", torch.bfloat16): (5e-2, 5e-2),
    ("rms_norm", torch.float32): (1e-6, 1e-4),
    ("rms_norm", torch.bfloat16): (2e-2, 2e-1),
    ("layer_norm", torch.float32): (1e-5, 1e-5),
}

# FlagGems, flag_gems/testing: rtol by dtype; atol is 1e-4 times the length of the reduction
FLAG_GEMS_RTOL = {torch.float16: 1e-3, torch.bfloat16: 0.016, torch.float32: 1.3e-6, torch.float64: 1e-7}
FLAG_GEMS_ATOL = 1e-4


def _close(got: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> bool:
    return bool(torch.allclose(got.double(), expected.double(), rtol=rtol, atol=atol, equal_nan=True))


def assert_close(op: str, got: torch.Tensor, expected: torch.Tensor, inputs: list[torch.Tensor]) -> bool:
    """Whether `torch.testing.assert_close` passes with its defaults."""
    return _close(got, expected, *ASSERT_CLOSE[got.dtype])


def liger(op: str, got: torch.Tensor, expected: torch.Tensor, inputs: list[torch.Tensor]) -> bool:
    """Whether Liger's test of this op and dtype passes; True where it has none."""
    tolerance = LIGER.get((op, got.dtype))
    return tolerance is None or _close(got, expected, *tolerance)


def flag_gems(op: str, got: torch.Tensor, expected: torch.Tensor, inputs: list[torch.Tensor]) -> bool:
    """Whether FlagGems' comparison passes."""
    reduced = inputs[0].shape[-1] if op in ("matmul", "sum") else 1
    return _close(got, expected, FLAG_GEMS_RTOL[got.dtype], FLAG_GEMS_ATOL * reduced)


def flash_attention(got: torch.Tensor, expected: torch.Tensor, exact: torch.Tensor) -> bool:
    """FlashAttention's rule: the largest error is at most twice that of torch in the same dtype."""
    if not torch.isfinite(exact).all() or not torch.isfinite(expected).all():
        return True
    error = (got.double() - exact).abs().nan_to_num(nan=math.inf)
    own = (expected.double() - exact).abs()
    return not got.numel() or bool(error.max() <= 2 * own.max())


RIVALS: dict[str, Callable[[str, torch.Tensor, torch.Tensor, list[torch.Tensor]], bool]] = {
    "assert_close": assert_close,
    "liger": liger,
    "flag_gems": flag_gems,
}
