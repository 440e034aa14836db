"""Metamorphic relations: what must hold between two launches of a kernel, whatever the right values are.

A relation is declared on an op (`Op(..., relations=[permutation("rows"), negation("x")])`); the oracle `relations` runs
the kernel on the call and on its transform and compares bit for bit. All relations here are exact in floating point for
a kernel whose arithmetic does not depend on where a slice lies, so no bound is involved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import torch
from hypothesis.errors import InvalidArgument

Values = dict[str, torch.Tensor]
Axes = Mapping[str, tuple[str | None, ...]]  # argument name to its axes, as the op describes them


@dataclasses.dataclass(frozen=True)
class Relation:
    """One relation: `transform` changes the arguments, `predict` says what that does to the outputs.

    `transform(values, axes)` gives the changed values, or None where the relation does not apply to them;
    `predict(outputs, axes)` the outputs of the transformed call from those of the original one, None likewise.
    """

    name: str
    law: str
    transform: Callable[[Values, Axes], Values | None]
    predict: Callable[[Sequence[torch.Tensor], Axes], list[torch.Tensor] | None]


def _order(n: int) -> torch.Tensor:
    """A fixed permutation of n without fixed points for n > 1: reversal would hide a swap of neighbours."""
    return torch.roll(torch.arange(n), 1)


def permutation(axis: str) -> Relation:
    """Permuting the slices along an independent axis permutes the result (its first axis of that size) alike.

    Holds bitwise for row-wise kernels: softmax, normalizations, matmul in m (research of batch invariance, e.g.
    thinking-machines-lab/batch_invariant_ops).
    """

    def transform(values: Values, axes: Axes) -> Values | None:
        changed = dict(values)
        moved = False
        for name, value in values.items():
            for place, own in enumerate(axes.get(name, ())):
                if own == axis and value.shape[place] > 1:
                    changed[name] = changed[name].index_select(place, _order(value.shape[place]))
                    moved = True
        return changed if moved else None

    def predict(outputs: Sequence[torch.Tensor], axes: Axes) -> list[torch.Tensor]:
        place = next(p for own in axes.values() for p, a in enumerate(own) if a == axis)
        return [o.index_select(place, _order(o.shape[place]).to(o.device)) for o in outputs]

    return Relation(f"permutation of {axis}", f"Permuting {axis} permutes the result.", transform, predict)


def negation(*arguments: str) -> Relation:
    """Negating the arguments negates the result: rms_norm in x, matmul in a, a sum, add in both. Exact in IEEE 754."""
    _named(arguments)

    def transform(values: Values, axes: Axes) -> Values | None:
        return {n: -v if n in arguments else v for n, v in values.items()}

    def predict(outputs: Sequence[torch.Tensor], axes: Axes) -> list[torch.Tensor]:
        return [-o for o in outputs]

    names = ", ".join(arguments)
    return Relation(f"negation of {names}", f"Negating {names} negates the result.", transform, predict)


def doubling(argument: str) -> Relation:
    """Doubling the argument doubles the result, where neither overflows nor is subnormal: exact in binary formats."""

    def transform(values: Values, axes: Axes) -> Values | None:
        value = values[argument]
        finfo = torch.finfo(value.dtype)
        size = value.double().abs()
        if bool((~torch.isfinite(value)).any()) or bool((size > finfo.max / 1024).any()):
            return None
        # products and sums of small values may be subnormal: 2**-24 leaves room in every format but float16's own
        if bool(((size > 0) & (size < max(finfo.tiny * 1024, 2.0**-24))).any()):
            return None
        return {**values, argument: value * 2}

    def predict(outputs: Sequence[torch.Tensor], axes: Axes) -> list[torch.Tensor] | None:
        if any(bool(((o != 0) & (o.abs() < 4 * torch.finfo(o.dtype).tiny)).any()) for o in outputs):
            return None  # a subnormal result was rounded to an absolute grid, which does not scale
        return [o * 2 for o in outputs]

    return Relation(f"doubling of {argument}", f"Doubling {argument} doubles the result.", transform, predict)


def exchange(one: str, other: str) -> Relation:
    """Exchanging two arguments of one shape leaves the result as it is: addition and products commute bitwise."""

    def transform(values: Values, axes: Axes) -> Values | None:
        if values[one].shape != values[other].shape or values[one].dtype != values[other].dtype:
            return None
        return {**values, one: values[other], other: values[one]}

    def predict(outputs: Sequence[torch.Tensor], axes: Axes) -> list[torch.Tensor]:
        return list(outputs)

    law = f"Exchanging {one} and {other} leaves the result as it is."
    return Relation(f"exchange of {one} and {other}", law, transform, predict)


def _named(arguments: tuple[str, ...]) -> None:
    if not arguments:
        raise InvalidArgument("negation() needs the name of at least one argument, as in negation('x')")
