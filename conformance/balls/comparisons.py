"""Rules of comparisons, whose results are no balls but truth values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from conformance.balls.context import CURRENT, Array, Context, note
from conformance.balls.rounding import total
from conformance.balls.tensor import BallTensor, operand


def boolean(c: Context, value: Any) -> Any:
    """A condition as a NumPy array of truth values."""
    if type(value) is BallTensor:
        mid, _ = value.operand()
        return mid != 0
    if isinstance(value, torch.Tensor):
        return value.numpy() if value.dtype is torch.bool else value.numpy() != 0
    return bool(value)


def _comparison(name: str, compare: Callable[[Array, Array], Array]) -> Callable[[Any, Any], Any]:
    def rule(x: Any, y: Any) -> Any:
        if y is None or isinstance(y, str):
            return NotImplemented
        c = CURRENT.get()
        (a, ra), (b, rb) = operand(c, x), operand(c, y)
        out = compare(a, b)
        reach = total(ra, rb)
        if reach is not None and (np.abs(a - b) <= reach)[reach > 0].any():
            # some outcome depends on rounding: both are conformant, and the result is no longer a proven one
            note(name)
        return torch.from_numpy(np.asarray(out))

    rule.__name__ = name
    rule.__doc__ = f"Elementwise `{name}`, decided by the midpoints; noted where rounding could decide otherwise."
    return rule


lt = _comparison("lt", np.less)
le = _comparison("le", np.less_equal)
gt = _comparison("gt", np.greater)
ge = _comparison("ge", np.greater_equal)
eq = _comparison("eq", np.equal)
ne = _comparison("ne", np.not_equal)


def isnan(x: Any) -> torch.Tensor:
    """Where x is NaN."""
    return torch.from_numpy(np.asarray(np.isnan(operand(CURRENT.get(), x)[0])))


def isinf(x: Any) -> torch.Tensor:
    """Where x is infinite."""
    return torch.from_numpy(np.asarray(np.isinf(operand(CURRENT.get(), x)[0])))


def isfinite(x: Any) -> torch.Tensor:
    """Where x is finite."""
    return torch.from_numpy(np.asarray(np.isfinite(operand(CURRENT.get(), x)[0])))
