"""`enclose`: run an ordinary torch reference once on balls."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from conformance.balls.context import CURRENT, NOTED, Array, Context
from conformance.balls.dispatch import BALL_MODE, context_of
from conformance.balls.movement import GradientAsked
from conformance.balls.scalars import Scalar
from conformance.balls.tensor import BallTensor, lift
from conformance.promises import Promises


@dataclasses.dataclass(eq=False, slots=True)
class Ball:
    """The enclosure of one output: what a conformant kernel may compute before it stores.

    `mid` is the exact value (float64, or extended precision for float64 kernels), `rad` the proven bound on the
    kernel's error before the store (inf: undecided); both have the output's shape. `dtype` is the output's.
    `compute` is the dtype the kernel computes in: a store to it rounds no further. `exact` holds integer and boolean
    outputs, which have no radius. `heuristic` names operations whose bound is estimated and not proven.
    """

    mid: Array
    rad: Array
    dtype: torch.dtype
    compute: torch.dtype
    exact: torch.Tensor | None = None
    heuristic: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the output."""
        return tuple(self.mid.shape)


def compute_dtype(args: Sequence[Any], promises: Promises) -> torch.dtype:
    """The dtype a kernel computes in: as promised, else float64 if any argument is, else float32."""
    if promises.compute is not None:
        return promises.compute
    return torch.float64 if any(map(_is_double, args)) else torch.float32


def _is_double(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.dtype is torch.float64
    return isinstance(value, (tuple, list)) and any(_is_double(v) for v in value)


@np.errstate(all="ignore")
def enclose(
    reference: Callable[..., Any],
    args: Sequence[Any],
    promises: Promises,
    *,
    out_dtypes: Sequence[torch.dtype] | None = None,
    mutates: Sequence[int] = (),
) -> list[Ball]:
    """One ball for each tensor that `reference(*args)` returns: its exact value and the bound for a kernel.

    `args` are CPU tensors of the call's dtypes, Python scalars, None and nested tuples of them. `reference` is any
    function of torch calls; it runs once. `out_dtypes` are the kernel's output dtypes where they differ from the
    reference's (a reference that computes in float64). `mutates` are positions of arguments that the reference
    changes in place; their final values follow the outputs.

    >>> import torch
    >>> from conformance.promises import Promises
    >>> (ball,) = enclose(torch.add, [torch.tensor([1.0]), torch.tensor([2.0**-30])], Promises())
    >>> bool(ball.mid[0] == 1 + 2.0**-30), bool(ball.rad[0] <= 2.0**-24)
    (True, True)
    """
    c = context_of(promises, compute_dtype(args, promises))
    noted: list[str] = []
    running, noting = CURRENT.set(c), NOTED.set(noted)
    try:
        arguments, result = _evaluated(c, reference, args)
        outputs = [result] if type(result) is BallTensor else list(_leaves(result))
        outputs += [arguments[i] for i in mutates]
        notes = tuple(noted)
        return [_ball(c, out, None if out_dtypes is None else out_dtypes[i], notes) for i, out in enumerate(outputs)]
    finally:
        CURRENT.reset(running)
        NOTED.reset(noting)


# what torch and Python raise of an argument that is no tensor of torch
_UNFIT = (AttributeError, RuntimeError, TypeError, ValueError)


def _evaluated(c: Context, reference: Callable[..., Any], args: Sequence[Any]) -> tuple[list[Any], Any]:
    """The arguments as balls, and what the reference makes of them.

    A reference that takes nothing but torch tensors, such as one that differentiates or maps by `torch.func`, gets
    tensors that stand for balls. It is tried second, since that takes longer and knows fewer functions.
    """
    arguments = [_argument(c, a) for a in args]
    try:
        with BALL_MODE:
            return arguments, reference(*arguments)
    except _UNFIT as error:
        # torch's decompositions, which it needs, take a second to import
        from conformance.balls import gradients

        NOTED.get().clear()
        try:
            return gradients.evaluated(c, reference, [_argument(c, a) for a in args])
        except _UNFIT as own:
            raise (own if isinstance(error, GradientAsked) else error) from None


def _argument(c: Context, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return lift(c, value) if value.dtype.is_floating_point else value
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_argument(c, v) for v in value)
    if type(value) is list:
        return [_argument(c, v) for v in value]
    if type(value) is float and c.native is not None:
        return Scalar(value, c.native, c.unit)
    return value


def _leaves(value: Any) -> Any:
    if type(value) is BallTensor or isinstance(value, (torch.Tensor, bool, int, float)):
        yield value
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from _leaves(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from _leaves(v)
    elif value is not None:
        raise TypeError(f"the reference returned a {type(value).__name__}; it must return tensors, or a tuple of them")


def _ball(c: Context, value: Any, dtype: torch.dtype | None, notes: tuple[str, ...]) -> Ball:
    if isinstance(value, (bool, int, float)):
        value = torch.tensor(value)
    if type(value) is not BallTensor:
        if not value.dtype.is_floating_point and (dtype is None or not dtype.is_floating_point):
            exact = value if dtype is None else value.to(dtype)
            zeros = np.zeros(tuple(exact.shape))
            return Ball(exact.double().numpy(), zeros, exact.dtype, c.compute, exact, notes)
        value = lift(c, value)
    target = value.dtype if dtype is None else dtype
    if value.pending and value.dtype is not target:
        value.settle()
    mid, rad = value.mid, value.rad
    if rad is None:
        rad = np.zeros(mid.shape, c.real)
    elif rad.shape != mid.shape:
        rad = np.broadcast_to(rad, mid.shape)
    return Ball(mid, np.asarray(rad), target, c.compute, None, notes)
