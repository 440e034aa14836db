"""Six kernels that compute nothing: no op may accept one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from conformance.op import Op

Kernel = Callable[..., Any]


def null_kernels(op: Op) -> dict[str, Kernel]:
    """Kernels of `op` that return, in the right shape and dtype: zeros, one buffer that is never written ("stale"), a
    copy of an input ("copy"), NaN (the largest number for integers), memory that is never written ("nothing"), and the
    answer to the call before ("previous")."""
    return {
        "zeros": _zeros(op),
        "stale": _stale(op),
        "copy": _copy(op),
        "nan": _nan(op),
        "nothing": _nothing(op),
        "previous": _previous(op),
    }


def _answer(op: Op, arguments: tuple[Any, ...]) -> tuple[list[torch.Tensor], bool]:
    """What the reference returns, and whether that is a tuple."""
    taken = dict(zip(op.names, arguments, strict=True))
    result = op.reference(*(taken[name] for name in op.reference_names))
    return (list(result), True) if isinstance(result, tuple) else ([result], False)


def _deliver(op: Op, arguments: tuple[Any, ...], values: list[torch.Tensor], many: bool) -> Any:
    """`values` as the kernel's result: in the arguments that the op mutates, the rest returned."""
    taken = dict(zip(op.names, arguments, strict=True))
    for name, value in zip(op.mutates, values, strict=False):
        taken[name].copy_(value)
    rest = values[len(op.mutates) :]
    if not rest:
        return None
    return tuple(rest) if many else rest[0]


def _made(op: Op, make: Callable[[torch.Tensor, tuple[Any, ...]], torch.Tensor]) -> Kernel:
    def kernel(*arguments: Any) -> Any:
        answer, many = _answer(op, arguments)
        return _deliver(op, arguments, [make(value, arguments) for value in answer], many)

    return kernel


def _zeros(op: Op) -> Kernel:
    return _made(op, lambda value, _: torch.zeros_like(value))


def _nan(op: Op) -> Kernel:
    def fill(value: torch.Tensor, _: tuple[Any, ...]) -> torch.Tensor:
        if value.dtype.is_floating_point:
            return torch.full_like(value, torch.nan)
        return torch.full_like(value, True if value.dtype == torch.bool else torch.iinfo(value.dtype).max)

    return _made(op, fill)


def _copy(op: Op) -> Kernel:
    def fill(value: torch.Tensor, arguments: tuple[Any, ...]) -> torch.Tensor:
        source = next(argument for argument in arguments if isinstance(argument, torch.Tensor)).reshape(-1)
        out = torch.zeros_like(value).reshape(-1)
        length = min(out.numel(), source.numel())
        out[:length] = source[:length].to(value.dtype)
        return out.reshape(value.shape)

    return _made(op, fill)


def _nothing(op: Op) -> Kernel:
    def kernel(*arguments: Any) -> Any:
        answer, many = _answer(op, arguments)
        rest = [torch.empty_like(value) for value in answer[len(op.mutates) :]]
        if not rest:
            return None
        return tuple(rest) if many else rest[0]

    return kernel


def _stale(op: Op) -> Kernel:
    buffers: dict[tuple[Any, ...], torch.Tensor] = {}

    def fill(value: torch.Tensor, _: tuple[Any, ...]) -> torch.Tensor:
        key = (value.shape, value.dtype, value.device)
        if key not in buffers:
            buffers[key] = torch.ones_like(value)
        return buffers[key]

    return _made(op, fill)


def _previous(op: Op) -> Kernel:
    kept: dict[tuple[Any, ...], list[torch.Tensor]] = {}

    def kernel(*arguments: Any) -> Any:
        answer, many = _answer(op, arguments)
        key = tuple((value.shape, value.dtype, value.device) for value in answer)
        values = kept.get(key, [torch.zeros_like(value) for value in answer])
        kept[key] = [value.clone() for value in answer]
        return _deliver(op, arguments, values, many)

    return kernel
