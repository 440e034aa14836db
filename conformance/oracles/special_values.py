"""The oracle `special_values`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from conformance import balls
from conformance.failures import SpecialValuesFailure
from conformance.launch import Launch
from conformance.op import OpError
from conformance.operations import Operations
from conformance.oracles import accuracy
from conformance.oracles.objection import Objection
from conformance.trial import Trial, evidence

LAW = "NaN, infinity and finite stand in each element as torch has them, in the call's dtype or in float64."

_VARIANCES = frozenset(
    ("var", "var_mean", "std", "std_mean", "native_layer_norm", "native_group_norm", "native_batch_norm")
)
_CLASSES = ("finite", "nan", "+inf", "-inf")


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to the first element whose class torch has neither way, then, as `accuracy`, to values outside their ball.

    Where the ball decides, it decides. Elsewhere an intermediate may overflow, and whether it does depends on the order
    of operations: what is not finite is right then, but a finite value must stand where torch has one. Where all inputs
    are finite, NaN and infinity come from that overflow alone, and a kernel that divides by what overflowed has a
    finite value there. Where torch has an infinity, a kernel that adds before it scales, as flash attention does, may
    overflow to the other one, which together are NaN. So is Welford's mean behind an infinity, in a kernel as
    in torch.var_mean, where torch.mean is infinite.
    """
    if launch.error is not None:
        return []
    arguments = trial.op.reference_arguments(launch.call, launch.values)
    expected = trial.expected(launch)
    usual = expected.torch.outputs
    exact = _exact(trial, arguments, usual)
    # float8 has none of torch's tests of its own
    overflowed = all(bool(v.float().isfinite().all()) for v in launch.values.values() if v.is_floating_point())
    for i, (got, plain, wide) in enumerate(zip(launch.outputs, usual, exact, strict=False)):
        if got.shape != plain.shape or got.dtype != plain.dtype or not got.is_floating_point():
            continue
        mine = got.detach().cpu()
        classes, one, other = _classes(mine), _classes(plain), _classes(wide.to(plain.dtype))
        apart = (classes == 1) & (one > 1)
        if bool(apart.any()) and (
            any(map(_sum_may_overflow, launch.values.values()))
            or (not overflowed and _takes_variance(trial, arguments))
        ):
            mine, classes = torch.where(apart, plain, mine), torch.where(apart, one, classes)
        # the midpoint has more range than float64, where torch in float64 overflows like torch in the call's dtype
        with np.errstate(over="ignore"):
            mid = np.asarray(expected.balls[i].mid, np.float64)
        middle = _classes(torch.as_tensor(mid).to(plain.dtype))
        wrong = (classes != one) & (classes != other) & (classes != middle)
        if trial.promises.nan == "ignore":
            wrong &= (one != 1) & (other != 1)
        verdict = balls.judge(mine, expected.balls[i], trial.promises)
        undecided = torch.as_tensor(balls.undecided(expected.balls[i]))
        wrong &= (undecided & (classes == 0) & (not overflowed)) | _mask(verdict.wrong, wrong)
        if bool(wrong.any()):
            index = tuple(int(k) for k in wrong.nonzero()[0])
            name = "the output" if len(launch.outputs) == 1 else f"output {i}"
            summary = (
                f"{int(wrong.sum())} of {got.numel()} elements of {name} have the wrong class, the first at {index}: "
                f"{_CLASSES[classes[index]]}, torch has {_CLASSES[one[index]]}"
            )
            return [Objection(SpecialValuesFailure, LAW, summary)]
        if not verdict.ok and not (trial.promises.nan == "ignore" and bool((one == 1).any())):
            return [accuracy.objection(evidence(i, got, verdict))]
    return []


def _sum_may_overflow(values: torch.Tensor) -> bool:
    """Whether a sum of as many finite values as there are, none above the largest, may be infinite."""
    if not values.is_floating_point() or values.dtype.itemsize < 4:  # halves are summed in float32, which holds them
        return False
    size = values.abs()
    size = size[size.isfinite()]
    return bool(size.numel()) and float(size.max()) > torch.finfo(values.dtype).max / values.numel()


def _takes_variance(trial: Trial, arguments: Mapping[str, Any]) -> bool:
    """Whether the reference takes a variance, as one operation or as a mean of what a mean was subtracted from."""
    with Operations() as ran:
        trial.reference(arguments)
    return not _VARIANCES.isdisjoint(ran.names) or ran.names.count("mean") > 1


def _mask(flat: Any, like: torch.Tensor) -> torch.Tensor:
    mask = torch.zeros(like.numel(), dtype=torch.bool)
    mask[torch.as_tensor(flat, dtype=torch.int64)] = True
    return mask.reshape(like.shape)


def _classes(values: torch.Tensor) -> torch.Tensor:
    values = values.double()
    inf = torch.isinf(values)
    return torch.isnan(values) * 1 + (inf & (values > 0)) * 2 + (inf & (values < 0)) * 3


def _exact(trial: Trial, arguments: Mapping[str, Any], plain: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """The reference in float64; torch's own result again where the reference cannot take float64."""
    wide = {n: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for n, v in arguments.items()}
    try:
        return trial.reference(wide).outputs
    except OpError:
        return plain
