"""Makes the values of a failing call simpler than a distribution and a seed can: zeros, few bits, half of the sizes.

Hypothesis shrinks descriptions, in which random data stay random. Where the objection is about values, this pass goes
on with the numbers themselves, as long as the same oracle objects.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

from conformance.failures import (
    AccuracyFailure,
    AgreementFailure,
    ConformanceFailure,
    ExactFailure,
    RelationsFailure,
    SpecialValuesFailure,
)
from conformance.op import Op
from strategies import Call, TensorDescription
from strategies.domains import REAL
from strategies.tensors import TensorStrategy
from strategies.values import Values

#: The objections to which the numbers of a call matter more than its shapes and layouts.
KINDS: tuple[type[ConformanceFailure], ...] = (
    AccuracyFailure,
    AgreementFailure,
    ExactFailure,
    RelationsFailure,
    SpecialValuesFailure,
)
# Elements of a tensor whose numbers are changed one by one: as many as a script still writes as a list.
_MOST = 64
# A launch takes about 2 ms where kernels are interpreted, so this is a second for a finding. The clock is only for slow
# kernels: what is found should not depend on how busy the machine is.
_TRIES = 300
_SECONDS = 10.0
# Significant bits that are tried, the fewest first; a whole number needs no more of them than it has.
_BITS = (1, 2, 4, 8)


def simplify(op: Op, call: Call, fails: Callable[[Call], bool]) -> Call:
    """The simplest call that was found for which `fails` still holds; `call` itself where nothing simpler does.

    Sizes are halved first, then blocks of each tensor are set to zero, then its numbers rounded to few bits. Only axes
    and arguments that the op leaves free are changed: real floating-point data, and axes without a relation.
    """
    deadline = time.monotonic() + _SECONDS
    tries = 0
    known: set[Call] = {call}
    progress = True
    while progress:
        progress = False
        for candidate in _candidates(op, call):
            if candidate in known:
                continue
            if tries == _TRIES or time.monotonic() > deadline:
                return call
            known.add(candidate)
            tries += 1
            if fails(candidate):
                call, progress = candidate, True
                break
    return call


def _candidates(op: Op, call: Call) -> Iterator[Call]:
    """Simpler calls, those that gain most first."""
    if call.contiguous() != call:
        yield call.contiguous()
    for axis in _free_axes(op, call):
        yield from _shorter(op, call, axis)
    for name in call.tensors:
        description = call.tensors[name]
        if not _is_free(description):
            continue
        value = description.fill()
        for simpler in _simpler(value):
            if not torch.equal(simpler, value):
                yield call.replace(name, description.with_values(Values.literal(simpler)))


def _is_free(description: TensorDescription) -> bool:
    return (
        description.dtype.is_floating_point
        and description.values.domain == REAL
        and 0 < description.numel <= _MOST
        and 0 not in description.layout.strides
    )


def _free_axes(op: Op, call: Call) -> Iterator[str]:
    """Axes that may be cut: plain names in every tensor, no relation, nothing that an index points into."""
    if any(not t.layout.is_contiguous for t in call.tensors.values()):
        return
    specs = {name: s.spec for name, s in op.inputs.items() if isinstance(s, TensorStrategy)}
    compound = {n for spec in specs.values() for dim in spec.axes if not dim.plain for n in dim.names}
    indexed = {spec.into for spec in specs.values() if isinstance(spec.into, str)}
    for axis, size in call.axes:
        if size > 1 and axis not in compound and axis not in indexed and axis not in op.axes:
            yield axis


def _shorter(op: Op, call: Call, axis: str) -> Iterator[Call]:
    """The call with the first or the second half of an axis, then without its last or its first slice."""
    size = call.sizes[axis]
    axes = op.argument_axes()
    taken = {name: t for name, t in call.tensors.items() if axis in axes.get(name, ())}
    if any(t.numel > _MOST * size or t.values.domain != REAL for t in taken.values()):
        return
    for start, count in ((0, size // 2), (size - size // 2, size // 2), (0, size - 1), (1, size - 1)):
        shorter = call
        for name, description in taken.items():
            value = description.fill()
            for place, own in enumerate(axes[name]):
                if own == axis:
                    value = value.narrow(place, start, count)
            if value.numel() > _MOST:
                break
            made = TensorDescription(tuple(value.shape), description.dtype, values=Values.literal(value))
            shorter = shorter.replace(name, made)
        else:
            sizes = tuple((name, count if name == axis else n) for name, n in call.axes)
            yield dataclasses.replace(shorter, axes=sizes)


def _simpler(value: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensor with blocks of zeros, the largest first, then with fewer bits in all of its numbers, then in each."""
    flat = value.reshape(-1)
    n = flat.numel()
    length = n
    while length:
        for start in range(0, n, length):
            block = flat[start : start + length]
            if bool((block != 0).any()):
                changed = flat.clone()
                changed[start : start + length] = 0
                yield changed.reshape(value.shape)
        length //= 2
    for simplest in _rounded(flat):
        yield simplest.reshape(value.shape)
    if n <= _MOST // 4:
        for i in range(n):
            for simplest in _rounded(flat[i : i + 1]):
                changed = flat.clone()
                changed[i] = simplest[0]
                yield changed.reshape(value.shape)


def _rounded(flat: torch.Tensor) -> Iterator[torch.Tensor]:
    """The numbers as 1, as whole numbers, and with few bits; what is not finite stays."""
    wide = flat.double()
    finite = wide.isfinite()
    for changed in (torch.ones_like(wide), wide.round(), *(_of_bits(wide, bits) for bits in _BITS)):
        changed = torch.where(finite & (wide != 0), changed, wide).to(flat.dtype)
        # nothing that took longer to write is simpler; float8 has no isfinite of its own
        if bool(changed.double().isfinite()[finite].all()) and _length(changed) < _length(flat):
            yield changed


def _of_bits(wide: torch.Tensor, bits: int) -> torch.Tensor:
    mantissa, exponent = np.frexp(wide.numpy())
    return torch.from_numpy(np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits))


def _length(flat: torch.Tensor) -> int:
    return sum(len(repr(number)) for number in flat.double().tolist() if math.isfinite(number))
