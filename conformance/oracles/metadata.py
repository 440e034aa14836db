"""The oracle `metadata`."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from conformance.balls import Ball
from conformance.failures import MetadataFailure
from conformance.launch import Launch
from conformance.oracles.objection import Objection
from conformance.regions import Role
from conformance.trial import Trial

LAW = "Number, shape, dtype and device of the results are those of the reference, and their memory is their own."


def check(trial: Trial, launch: Launch) -> list[Objection]:
    """Object to a result that is no tensor, or has another shape, dtype or device than the reference's."""
    if launch.error is not None:
        return []
    wrong = _wrong(trial, launch)
    return [Objection(MetadataFailure, LAW, wrong)] if wrong else []


def _wrong(trial: Trial, launch: Launch) -> str | None:
    if launch.returned is not None:
        return (
            f"the kernel returned {_a(launch.returned)}; return a tensor or a tuple of tensors, "
            "or None for an op that mutates its arguments"
        )
    promised = trial.expected(launch)
    if _as_promised(launch, promised.balls):
        return None
    expected = promised.torch.outputs
    if len(launch.outputs) != len(expected):
        if not launch.outputs:
            count = "1 result" if len(expected) == 1 else f"{len(expected)} results"
            return f"the kernel returned None; the op gives {count} and declares nothing as mutated"
        return f"the kernel gave {len(launch.outputs)} tensors, the reference {len(expected)}"
    own = promised.torch.aliases
    for i, (got, want) in enumerate(zip(launch.outputs, expected, strict=True)):
        name = "output" if len(expected) == 1 else f"output {i}"
        if got.layout != torch.strided:
            return f"{name} is a {_short(got.layout)} tensor, the reference's is dense"
        if i not in own and (shared := _shared(launch, got)):
            return f"{name} shares its memory with the argument {shared}; the reference's result does not"
        if got.shape != want.shape:
            return f"{name} has shape {tuple(got.shape)}, the reference {tuple(want.shape)}"
        if got.dtype != want.dtype:
            return f"{name} has dtype {_short(got.dtype)}, the reference {_short(want.dtype)}"
        if launch.placed and got.device != next(iter(launch.placed.values())).tensor.device:
            return f"{name} lies on {got.device}, the arguments on another device"
    return None


def _as_promised(launch: Launch, enclosed: Sequence[Ball]) -> bool:
    """Whether all is as the balls have it, which torch need not be asked for."""
    device = next((placed.tensor.device for placed in launch.placed.values()), None)
    return len(launch.outputs) == len(enclosed) and all(
        got.layout == torch.strided
        and got.shape == ball.shape
        and got.dtype == ball.dtype
        and (device is None or got.device == device)
        and _shared(launch, got) is None
        for got, ball in zip(launch.outputs, enclosed, strict=True)
    )


def _shared(launch: Launch, output: torch.Tensor) -> str | None:
    """The argument that the kernel may only read and whose memory it returned."""
    if not output.numel():
        return None
    address = output.untyped_storage().data_ptr()
    return next(
        (name for name, placed in launch.placed.items() if placed.region.role is Role.IN and placed.address == address),
        None,
    )


def _a(value: object) -> str:
    name = type(value).__name__
    return f"a {name}" if name[0] not in "aeiouAEIOU" else f"an {name}"


def _short(dtype: torch.dtype | torch.layout) -> str:
    return str(dtype).removeprefix("torch.")
