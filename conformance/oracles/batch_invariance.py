"""The oracle `batch_invariance`."""

from __future__ import annotations

import functools

import torch

from conformance.failures import BatchInvarianceFailure
from conformance.launch import Settings
from conformance.oracles.bits import describe
from conformance.oracles.objection import Objection
from conformance.oracles.torch_reductions import explain
from conformance.trial import Trial
from strategies import Call

LAW = "A slice along the independent axis, alone, has the bits that it has in any batch."


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a kernel, None if it does."""
    if trial.op.independent is None:
        return "the op declares no independent axis"
    return None if trial.promises.batch_invariant else "the kernel promises no batch invariance"


def check(trial: Trial, call: Call) -> list[Objection]:
    """Object where the first or the last slice, alone, has other bits than in the batch."""
    axis = trial.op.independent
    assert axis is not None
    size = call.sizes[axis]
    if size < 2:
        return []
    # a slice alone is laid out anew: where the bits depend on the layout, both launches get contiguous copies
    settings = Settings(contiguous=not trial.layout_invariant)
    whole = trial.launch(call, settings)
    if whole.error is not None:
        return []
    results = [o.clone() for o in whole.outputs]
    positions = {
        name: [i for i, own in enumerate(axes) if own == axis]
        for name, axes in trial.op.argument_axes().items()
        if name in whole.values
    }
    for row in (0, size - 1):
        values = dict(whole.values)
        for name, places in positions.items():
            for place in places:
                values[name] = values[name].narrow(place, row, 1).contiguous()
        alone = trial.launch(call, settings, values=values)
        if alone.error is not None:
            difference = (f"slice {row} of {axis} alone raised {alone.error}",)
            return [Objection(BatchInvarianceFailure, LAW, difference[0], notes=difference)]
        batch = [_slice(r, a, row) for r, a in zip(results, alone.outputs, strict=False)]
        found = describe(batch, alone.outputs, f"slice {row} of {axis} in the batch", "alone")
        if found and not explain(
            lambda: trial.launch(call, settings),
            functools.partial(trial.launch, call, settings, values=values),
            functools.partial(_slice, row=row),
        ):
            return [Objection(BatchInvarianceFailure, LAW, found[0], notes=found)]
    return []


def _slice(result: torch.Tensor, alone: torch.Tensor, row: int) -> torch.Tensor:
    """The part of a batch's result that belongs to one slice: along the one axis where the sizes differ."""
    for place, (n, m) in enumerate(zip(result.shape, alone.shape, strict=False)):
        if n != m:
            return result.narrow(place, row, 1)
    return result
