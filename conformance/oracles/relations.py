"""The oracle `relations`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from hypothesis.strategies import SearchStrategy

from conformance import balls
from conformance.failures import RelationsFailure
from conformance.launch import Launch, Settings
from conformance.oracles.bits import describe, unsigned
from conformance.oracles.objection import Objection
from conformance.relations import Axes, Relation, Values
from conformance.trial import Trial
from strategies import Call
from strategies.choices import Data, TableStrategy, entry

LAW = "The metamorphic relations that the op declares hold: exactly, or within the sum of the bounds of both calls."


@dataclasses.dataclass(frozen=True)
class Related:
    """A call, and the name of the relation that is asked of it."""

    call: Call
    relation: str


class RelatedStrategy(TableStrategy[Related]):
    """A strategy of calls, each with one of the names of `relations`, the first the simplest."""

    def __init__(self, calls: SearchStrategy[Call], relations: tuple[str, ...]) -> None:
        super().__init__()
        self._calls = calls
        self._relations = relations

    @property
    def tables_alone(self) -> bool:
        """Whether the calls come from tables."""
        return isinstance(self._calls, TableStrategy) and self._calls.tables_alone

    def do_draw(self, data: Data) -> Related:
        """A call and a name."""
        return Related(data.draw(self._calls), entry(data, self._relations))


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a trial, None if it does."""
    if not trial.op.relations:
        return "the op declares no relations"
    return None if _asked(trial) else "the kernel does not promise what the op's relations need"


def _asked(trial: Trial) -> dict[str, Relation]:
    return {relation.name: relation for relation in trial.op.relations if relation.needs(trial.promises)}


def draw(trial: Trial, dtype: torch.dtype | None) -> SearchStrategy[Related]:
    """A call and one of the op's relations."""
    promises = trial.promises
    calls = trial.op.calls(dtype=dtype, layouts=promises.layouts, limits=dict(promises.limits), long=())
    return RelatedStrategy(calls, tuple(_asked(trial)))


def check(trial: Trial, drawn: Related | Call) -> list[Objection]:
    """Object to the relation that was drawn, or to the first of all, if the kernel breaks it."""
    asked = _asked(trial)
    if isinstance(drawn, Call):
        for name in asked:
            found = check(trial, Related(drawn, name))
            if found:
                return found
        return []
    relation = asked[drawn.relation]
    axes = trial.op.argument_axes()
    tensors = drawn.call.tensors
    settings = _settings(drawn.call)
    original: Values | None = {name: t.values.fill(t.shape, t.dtype) for name, t in tensors.items()}
    if relation.prepare is not None:
        original = relation.prepare(original or {}, axes)
    values = None if original is None else relation.transform(original, axes)
    if values is None or _beyond(trial, values, axes):
        return []
    base = trial.launch(drawn.call, settings, values=original)
    if base.error is not None:
        return []
    outputs = [o.clone() for o in base.outputs]
    close = None if _exact(trial, relation, base) else _bounds(trial, relation, base, axes)
    predicted = relation.predict(outputs, base.values, axes)
    other = trial.launch(drawn.call, settings, values=values)
    if other.error is not None:
        difference: tuple[str, ...] | None = (f"the transformed call raised {other.error}",)
    elif close is None:
        difference = describe(_unsigned(predicted), _unsigned(other.outputs), "the relation", "the kernel")
    else:
        difference = _apart(predicted, other.outputs, close, _bounds(trial, None, other, axes))
    if difference:
        return [Objection(RelationsFailure, LAW, f"{relation.law} {difference[0]}", notes=difference)]
    return []


def dry(trial: Trial, drawn: Related) -> None:
    """Make a dry launch of the call as `check` lays it out."""
    trial.launch(drawn.call, dataclasses.replace(_settings(drawn.call), dry=True))


def _settings(call: Call) -> Settings:
    # what is transformed cannot lie in an expanded layout, so neither may the original
    return Settings(contiguous=any(0 in t.layout.strides for t in call.tensors.values()))


def _exact(trial: Trial, relation: Relation, base: Launch) -> bool:
    """Whether equal values may be asked for: not where the order of a sum may be another one in the second call."""
    promises = trial.promises
    return relation.exact and promises.deterministic and promises.batch_invariant and not base.float_atomics


def _beyond(trial: Trial, values: Values, axes: Axes) -> bool:
    """Whether an axis is longer than the kernel promises to take."""
    limits = dict(trial.promises.limits)
    return any(
        own in limits and size > limits[own]
        for name, value in values.items()
        for own, size in zip(axes.get(name, ()), value.shape, strict=False)
    )


def _bounds(trial: Trial, relation: Relation | None, launch: Launch, axes: Axes) -> list[torch.Tensor]:
    """The bound on each element of the outputs, carried through the relation: float64, inf where undecided."""
    bounds = [torch.from_numpy(np.array(balls.bound(b), np.float64)) for b in trial.expected(launch).balls]
    return bounds if relation is None else [b.abs() for b in relation.predict(bounds, launch.values, axes)]


def _unsigned(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The outputs with every zero positive: a sum of zeros and its negation are both +0."""
    return [unsigned(o.detach().cpu()) for o in outputs]


def _apart(
    predicted: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    close: Sequence[torch.Tensor],
    closer: Sequence[torch.Tensor],
) -> tuple[str, ...] | None:
    """A sentence that says where two results differ by more than the sum of their bounds, None if nowhere."""
    for i, (one, other, a, b) in enumerate(zip(predicted, outputs, close, closer, strict=False)):
        if one.shape != other.shape:
            return (f"output {i}: shape {tuple(other.shape)}, the relation gives {tuple(one.shape)}",)
        if b.shape != other.shape:
            continue  # the oracle `metadata` objects to it
        x, y, allowed = one.detach().cpu().double(), other.detach().cpu().double(), a + b
        largest = torch.finfo(one.dtype).max if one.is_floating_point() else torch.inf
        # from infinity to the largest number may be one rounding
        gap = (x.clamp(-largest, largest) - y.clamp(-largest, largest)).abs()
        mask = (x != y) & ~(x.isnan() & y.isnan()) & ~(gap <= allowed) & ~allowed.isinf() & ~allowed.isnan()
        if bool(mask.any()):
            index = tuple(int(k) for k in mask.nonzero()[0])
            return (
                f"{int(mask.sum())} of {x.numel()} elements of output {i} differ by more than their bounds, the first "
                f"at {index}: the relation gives {x[index].item()!r}, the kernel {y[index].item()!r}, and "
                f"{allowed[index].item():.3g} is allowed between them",
            )
    return None
