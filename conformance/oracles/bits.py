"""Bitwise comparison of results, for the relational oracles."""

from __future__ import annotations

from collections.abc import Sequence

import torch

_WORD = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def differing(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
    """A mask of the elements whose bits differ, None if none does; NaNs are equal whatever their payload."""
    if one.numel() == 0:
        return None
    a, b = one.detach().contiguous(), other.detach().contiguous()
    if a.dtype.is_complex:
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    word = _WORD[a.element_size()]
    if torch.equal(a.view(word), b.view(word)):
        return None
    mask = a.view(word) != b.view(word)
    if a.dtype.is_floating_point:
        mask &= ~(a.float().isnan() & b.float().isnan() if a.element_size() == 1 else a.isnan() & b.isnan())
    return mask if bool(mask.any()) else None


def describe(
    ones: Sequence[torch.Tensor], others: Sequence[torch.Tensor], first: str, second: str
) -> tuple[str, ...] | None:
    """Sentences that say where two lists of results differ, None if they are the same bits."""
    if len(ones) != len(others):
        return (f"{first} gives {len(ones)} tensors, {second} {len(others)}",)
    for i, (one, other) in enumerate(zip(ones, others, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return (
                f"output {i}: {first} gives {one.dtype} {tuple(one.shape)}, "
                f"{second} {other.dtype} {tuple(other.shape)}",
            )
        mask = differing(one, other)
        if mask is None:
            continue
        index = tuple(int(k) for k in mask.nonzero()[0][: one.ndim])
        return (
            f"{int(mask.sum())} of {one.numel()} elements of output {i} differ, the first at {index}: "
            f"{first} gives {one[index].item()!r}, {second} {other[index].item()!r}",
        )
    return None


def unsigned(values: torch.Tensor) -> torch.Tensor:
    """`values` with +0 for -0; those of float8, which has no addition, in float32."""
    if not values.is_floating_point():
        return values
    return (values.float() if values.element_size() == 1 else values) + 0
