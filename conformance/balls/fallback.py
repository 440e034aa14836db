"""Operations without a rule: torch in float64 for the midpoint, an estimate for the radius, and a note of the name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from conformance.balls.context import Array, Context, note
from conformance.balls.tensor import BallTensor

# sign patterns of the perturbation, and the safety factor on the largest change that any of them causes
PATTERNS = 4
SAFETY = 4.0


def estimate(c: Context, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of `function` with estimated radii; its name goes to the context's notes.

    Every operand is moved by its radius, or by one roundoff of the compute dtype, in `PATTERNS` patterns of signs; the
    radius is `SAFETY` times the largest change, plus twice torch's own error in the compute dtype, plus two roundoffs.
    """
    note(name)
    generator = np.random.default_rng(0)

    def run(move: float, dtype: torch.dtype = torch.float64) -> Any:
        def plain(value: Any) -> Any:
            if type(value) is BallTensor:
                mid, rad = value.operand()
                if not value.dtype.is_floating_point:
                    return torch.from_numpy(np.asarray(mid, np.float64)).to(value.dtype)
                if move:
                    size = np.maximum(0 if rad is None else np.where(np.isfinite(rad), rad, 0), np.abs(mid) * c.u)
                    mid = mid + size * np.where(generator.random(mid.shape) < 0.5, -move, move)
                return torch.from_numpy(np.array(mid, np.float64)).to(dtype)
            if isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
                return value.to(dtype)
            if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
                return type(value)(plain(v) for v in value) if not hasattr(value, "_fields") else value
            if isinstance(value, torch.dtype) and value.is_floating_point:
                return dtype
            return value

        with torch._C.DisableTorchFunction():
            return function(*(plain(a) for a in args), **{k: plain(v) for k, v in kwargs.items()})

    exact = run(0.0)
    trials = [run(1.0) for _ in range(PATTERNS)]
    native = run(0.0, c.compute)
    dtype = next((a.dtype for a in args if type(a) is BallTensor), torch.get_default_dtype())

    def combine(value: Any, moved: list[Any], own: Any) -> Any:
        if isinstance(value, (tuple, list)):
            parts = [combine(v, [m[i] for m in moved], own[i]) for i, v in enumerate(value)]
            # torch's named tuples (topk, sort, frexp) are made from one sequence
            return type(value)(parts)
        if not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
            if isinstance(value, torch.Tensor) and value.is_complex():
                raise TypeError(
                    f"{name} gives complex numbers, which carry no error bound: write their real and imaginary parts "
                    "as two real tensors"
                )
            return value
        mid = value.numpy()
        spread: Array = np.zeros_like(mid)
        for other in moved:
            spread = np.maximum(spread, np.abs(other.numpy() - mid))
        error = np.abs(own.double().numpy() - mid)
        rad = SAFETY * spread + 2 * error + 4 * c.u * np.abs(mid) + c.eta + c.flush
        rad = np.where(np.isfinite(mid), np.where(np.isnan(rad), np.inf, rad), 0)
        return BallTensor(c, mid.astype(c.real), rad.astype(c.real), dtype, not c.finite(np.abs(mid) + rad))

    return combine(exact, trials, native)
