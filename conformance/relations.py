"""Metamorphic relations: what must hold between two launches of a kernel, whatever the right values are.

A relation is declared on an op (`Op(..., relations=[permutation("rows"), negation("x")])`). The oracle `relations` runs
the kernel on a call and on its transform. Where the arithmetic of both is the same, the values are equal, but for the
sign of a zero; else they agree within the sum of the bounds of both calls.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import torch
from hypothesis.errors import InvalidArgument

from conformance.promises import Promises

Values = dict[str, torch.Tensor]
Axes = Mapping[str, tuple[str | None, ...]]  # argument name to its axes, as the op describes them

# Slices that `padding` appends: with 1 a size below a power of two would stay in its block
_APPENDED = 3
# The largest constant that `shift` adds: beyond it float16 data would be quantised to nothing
_LARGEST_SHIFT = 2.0**12


@dataclasses.dataclass(frozen=True)
class Relation:
    """One relation: `transform` changes the arguments, `predict` says what that does to the outputs.

    `transform(values, axes)` gives the changed values, or None where the relation does not apply to them.
    `predict(outputs, values, axes)` gives the outputs of the transformed call from those of the original one and its
    values; it is linear, so that it carries bounds too. Where `prepare` is given, the original call is made with the
    values that it gives, or not at all where it gives None. `exact` tells that values are equal, and not only close.
    `needs` are the promises without which the relation is no law. `arguments` and `axes` are the names that it takes
    from the op, which checks that it has them.
    """

    name: str
    law: str
    transform: Callable[[Values, Axes], Values | None]
    predict: Callable[[Sequence[torch.Tensor], Values, Axes], list[torch.Tensor]]
    exact: bool = True
    prepare: Callable[[Values, Axes], Values | None] | None = None
    needs: Callable[[Promises], bool] = lambda promises: True
    arguments: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()


def _same(outputs: Sequence[torch.Tensor], values: Values, axes: Axes) -> list[torch.Tensor]:
    return list(outputs)


def _place(axes: Axes, axis: str) -> int:
    """The position of an axis in the first argument that has it."""
    return next(own.index(axis) for own in axes.values() if axis in own)


def _order(n: int) -> torch.Tensor:
    """A fixed permutation of n without fixed points for n > 1: reversal would hide a swap of neighbours."""
    return torch.roll(torch.arange(n), 1)


def permutation(axis: str, *, exact: bool = True, reduced: bool = False) -> Relation:
    """Permuting the slices along an axis permutes the result alike, or leaves it where the axis is `reduced` away.

    Exact along an independent axis (research of batch invariance, e.g. thinking-machines-lab/batch_invariant_ops);
    along an axis that is summed over, the order of the sum changes: `exact=False`.
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

    def predict(outputs: Sequence[torch.Tensor], values: Values, axes: Axes) -> list[torch.Tensor]:
        if reduced:
            return list(outputs)
        place = _place(axes, axis)
        return [o.index_select(place, _order(o.shape[place]).to(o.device)) for o in outputs]

    what = "leaves the result as it is" if reduced else "permutes the result"
    return Relation(
        f"permutation of {axis}",
        f"Permuting {axis} {what}.",
        transform,
        predict,
        exact,
        axes=(axis,),
    )


def padding(axis: str, *, reduced: bool = False, **neutral: float) -> Relation:
    """Appending neutral slices to an axis leaves the result as it is: -inf for a softmax, 0 for a sum.

    `neutral` gives the value for each argument that has the axis. What is appended to the result is 0, unless the axis
    is `reduced` away. Within the bounds: the slices may fall into a block of their own.
    """
    _named("padding", tuple(neutral), "'cols', x=0.0")

    def transform(values: Values, axes: Axes) -> Values | None:
        changed = dict(values)
        for name, value in values.items():
            for place, own in enumerate(axes.get(name, ())):
                if own != axis:
                    continue
                if value.shape[place] == 0:
                    return None
                shape = [*value.shape]
                shape[place] = _APPENDED
                more = torch.full(shape, neutral[name], dtype=value.dtype)
                changed[name] = torch.cat([changed[name], more], dim=place)
        return changed

    def predict(outputs: Sequence[torch.Tensor], values: Values, axes: Axes) -> list[torch.Tensor]:
        if reduced:
            return list(outputs)
        place = _place(axes, axis)
        return [torch.cat([o, torch.zeros_like(o.narrow(place, 0, 1)).repeat_interleave(_APPENDED, place)], place)
                for o in outputs]  # fmt: skip

    law = f"Appending {', '.join(f'{v:g} to {n}' for n, v in neutral.items())} along {axis} leaves the result."
    return Relation(f"padding of {axis}", law, transform, predict, exact=False, arguments=tuple(neutral), axes=(axis,))


def shift(argument: str) -> Relation:
    """Adding a constant to the argument leaves the result as it is: softmax, layer norm, cross entropy.

    The values are rounded first to a grid on which the sum has no error. Within the bounds: a mean and a logarithm are
    rounded elsewhere once they are shifted.
    """

    def constant(value: torch.Tensor) -> float | None:
        largest = float(value.double().abs().max()) if value.numel() else 0.0
        if not largest <= _LARGEST_SHIFT:
            return None
        return 2.0 ** math.ceil(math.log2(largest)) if largest > 2.0**-12 else 2.0**-12

    def prepare(values: Values, axes: Axes) -> Values | None:
        value = values[argument]
        c = constant(value)
        if c is None:
            return None
        return {**values, argument: ((value + c).double() - c).to(value.dtype)}

    def transform(values: Values, axes: Axes) -> Values | None:
        c = constant(values[argument])
        return None if c is None else {**values, argument: values[argument] + c}

    law = f"Adding a constant to {argument} leaves the result as it is."
    return Relation(f"shift of {argument}", law, transform, _same, exact=False, prepare=prepare, arguments=(argument,))


def _scaled(value: torch.Tensor, factor: int) -> torch.Tensor:
    # float8 has no arithmetic of its own
    narrow = value.is_floating_point() and value.element_size() == 1
    return (value.float() * factor).to(value.dtype) if narrow else value * factor


def negation(*arguments: str) -> Relation:
    """Negating the arguments negates the result: rms_norm in x, matmul in a, a sum, add in both. Exact in IEEE 754."""
    _named("negation", arguments, "'x'")

    def transform(values: Values, axes: Axes) -> Values | None:
        return {n: _scaled(v, -1) if n in arguments else v for n, v in values.items()}

    def predict(outputs: Sequence[torch.Tensor], values: Values, axes: Axes) -> list[torch.Tensor]:
        return [_scaled(o, -1) for o in outputs]

    names = ", ".join(arguments)
    return Relation(
        f"negation of {names}", f"Negating {names} negates the result.", transform, predict, arguments=arguments
    )


def doubling(*arguments: str) -> Relation:
    """Doubling the arguments doubles the result: a matmul in a, a sum in x, a norm in its weight.

    Within the bounds: exact in binary formats, but for what overflows or is subnormal on the way.
    """
    _named("doubling", arguments, "'a'")

    def transform(values: Values, axes: Axes) -> Values | None:
        changed = {n: _scaled(v, 2) if n in arguments else v for n, v in values.items()}
        # a cast to float8 saturates
        twice = all(bool((changed[n].double() == 2 * values[n].double()).all()) for n in arguments)
        return changed if twice and all(bool(changed[n].double().isfinite().all()) for n in arguments) else None

    def predict(outputs: Sequence[torch.Tensor], values: Values, axes: Axes) -> list[torch.Tensor]:
        return [_scaled(o, 2) for o in outputs]

    names = ", ".join(arguments)
    return Relation(
        f"doubling of {names}",
        f"Doubling {names} doubles the result.",
        transform,
        predict,
        exact=False,
        arguments=arguments,
    )


def exchange(one: str, other: str) -> Relation:
    """Exchanging two arguments of one shape leaves the result as it is: addition and products commute."""

    def transform(values: Values, axes: Axes) -> Values | None:
        if values[one].shape != values[other].shape or values[one].dtype != values[other].dtype:
            return None
        return {**values, one: values[other], other: values[one]}

    law = f"Exchanging {one} and {other} leaves the result as it is."
    return Relation(f"exchange of {one} and {other}", law, transform, _same, arguments=(one, other))


def selection(left: str, right: str) -> Relation:
    """The product with a matrix that has a single 1 in each column selects columns of the left factor, exactly.

    The identity and permutation matrices are such; sums of one number and zeros have no error in any order. TF32
    rounds the operands, so a kernel that promises it is not asked.
    """

    def chosen(values: Values) -> torch.Tensor:
        k, n = values[right].shape
        return (torch.arange(n) + 1) % max(k, 1)

    def transform(values: Values, axes: Axes) -> Values | None:
        k = values[right].shape[0]
        if k == 0 or not bool(values[left].double().isfinite().all()):
            return None
        picks = torch.arange(k)[:, None] == chosen(values)[None, :]
        return {**values, right: picks.to(values[right].dtype)}

    def predict(outputs: Sequence[torch.Tensor], values: Values, axes: Axes) -> list[torch.Tensor]:
        return [values[left].index_select(1, chosen(values)).to(outputs[0])]

    law = f"Where each column of {right} has a single 1, the product selects columns of {left}."
    return Relation(
        f"selection by {right}",
        law,
        transform,
        predict,
        needs=lambda promises: promises.dot == "ieee",
        arguments=(left, right),
    )


def transposition(left: str, right: str) -> Relation:
    """The product of the transposes in reverse order is the transpose of the product, within the bounds."""

    def transform(values: Values, axes: Axes) -> Values | None:
        return {**values, left: values[right].T.contiguous(), right: values[left].T.contiguous()}

    def predict(outputs: Sequence[torch.Tensor], values: Values, axes: Axes) -> list[torch.Tensor]:
        return [o.T for o in outputs]

    law = f"Transposing {left} and {right} and exchanging them transposes the result."
    return Relation(
        f"transposition of {left} and {right}", law, transform, predict, exact=False, arguments=(left, right)
    )


def _named(what: str, arguments: tuple[str, ...], example: str) -> None:
    if not arguments:
        raise InvalidArgument(f"{what}() needs the name of at least one argument, as in {what}({example})")
