"""The oracle `exact`."""

from __future__ import annotations

import torch

from conformance.failures import ExactFailure
from conformance.launch import Launch
from conformance.oracles.bits import differing, unsigned
from conformance.oracles.objection import Objection
from conformance.trial import Trial

LAW = "On small-integer data, exact in every order of operations, each element has the one right value."


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to an op, None if it does."""
    return None if trial.op.exact else "the op is no composition of sums, products and copies"


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to the first element that is not bit for bit what the reference gives in float64."""
    if launch.error is not None:
        return []
    arguments = trial.op.reference_arguments(launch.call, launch.values)
    wide = {n: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for n, v in arguments.items()}
    for i, (got, want) in enumerate(zip(launch.outputs, trial.reference(wide).outputs, strict=False)):
        if got.shape != want.shape:
            continue
        got, want = got.detach().cpu(), want.to(got.dtype)
        mask = differing(unsigned(got), unsigned(want))  # the sign of a zero sum depends on the order
        if mask is not None:
            index = tuple(int(k) for k in mask.nonzero()[0])
            summary = (
                f"{int(mask.sum())} of {got.numel()} elements of output {i} are wrong, the first at {index}: "
                f"got {got[index].item()!r}, exactly {want[index].item()!r}"
            )
            return [Objection(ExactFailure, LAW, summary)]
    return []
