"""How the work of an op's reference grows with an axis: long calls are for axes along which it grows no faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import InvalidArgument
from torch.nn.attention import SDPBackend, sdpa_kernel

from conformance.launch import invoke
from conformance.operations import Operations
from strategies import Axis, Call, fixed

if TYPE_CHECKING:
    from conformance.op import Op

# Entries of the axis in the first of two runs; the second has twice as many. Enough for n * n to outweigh what is
# fixed.
_ENTRIES = 64
# Twice the entries make twice the elements at most; a square makes four times as many.
_TWICE = 2.2


def is_linear(op: Op, name: str) -> bool:
    """Whether the reference works on twice the elements, with as many operations, where the axis `name` is twice as
    long.

    Not so: the scores of a self-attention, a matrix of distances, and a loop over the entries. What fails on small
    calls is not linear either.
    """
    axis = op.axes.get(name, Axis())
    size = -(-max(_ENTRIES, axis.min) // axis.multiple) * axis.multiple
    once, twice = _count(op, name, size), _count(op, name, 2 * size)
    if once is None or twice is None:
        return False
    return len(twice.names) <= len(once.names) and twice.elements <= _TWICE * once.elements


def _count(op: Op, name: str, size: int) -> Operations | None:
    """What the reference does on the simplest call whose axis has that size, None where it raises or there is none."""
    drawn: list[Call] = []
    settings = hypothesis.settings(
        max_examples=1, phases=[Phase.generate], database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    try:
        strategy = op.calls(replaced={name: fixed(size)}, long=())
        hypothesis.seed(0)(settings(hypothesis.given(strategy)(lambda call: drawn.append(call))))()
    except InvalidArgument:  # no argument of the op is as long as that
        return None
    call = drawn[0]
    arguments = op.reference_arguments(call, {name: t.fill() for name, t in call.tensors.items()})
    counted = Operations()
    try:
        # the fused attention would hide its scores
        with counted, sdpa_kernel(SDPBackend.MATH):
            invoke(op.reference, arguments)
    except (Exception, SystemExit):  # noqa: BLE001 - a reference that is broken is reported where it is needed
        return None
    return counted
