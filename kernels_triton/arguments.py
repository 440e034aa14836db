"""What the launchers share: checks of their arguments, and the shape of the work."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import triton
import triton.language as tl

COMPUTE = {
    torch.float16: tl.float32,
    torch.bfloat16: tl.float32,
    torch.float32: tl.float32,
    torch.float64: tl.float64,
}
"""The dtype that a kernel computes in, by the dtype of its tensors: these dtypes are supported, no others."""


def check_tensors(kernel: str, **tensors: torch.Tensor) -> None:
    """Nothing, if all `tensors` are dense, of one supported dtype and on one device.

    Raises:
        TypeError: an argument is no dense tensor, its dtype is not in `COMPUTE`, or two dtypes differ.
        ValueError: two devices differ.
    """
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
            kind = tensor.layout if isinstance(tensor, torch.Tensor) else type(tensor).__name__
            raise TypeError(f"{kernel}: {name} must be a dense torch.Tensor, got {kind}")
        if tensor.dtype not in COMPUTE:
            supported = ", ".join(str(dtype).removeprefix("torch.") for dtype in COMPUTE)
            raise TypeError(f"{kernel}: {name} has dtype {tensor.dtype}; supported are {supported}")
    (first, lead), *rest = tensors.items()
    for name, tensor in rest:
        if tensor.dtype != lead.dtype:
            raise TypeError(
                f"{kernel}: {name} has dtype {tensor.dtype}, {first} has {lead.dtype}; cast one so that they agree"
            )
        if tensor.device != lead.device:
            raise ValueError(
                f"{kernel}: {name} is on {tensor.device}, {first} on {lead.device}; move one so that they agree"
            )


def check_matrices(kernel: str, a: torch.Tensor, b: torch.Tensor, dtypes: Iterable[torch.dtype] = COMPUTE) -> None:
    """Nothing, if `a` and `b` are tensors as `check_tensors` has them, of one of `dtypes`, and matrices to multiply.

    Raises:
        TypeError: as for `check_tensors`, or a dtype is not in `dtypes`.
        ValueError: two devices differ, a rank is not 2, or the shapes do not fit.
    """
    check_tensors(kernel, a=a, b=b)
    if a.dtype not in dtypes:
        supported = ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        raise TypeError(f"{kernel}: a has dtype {a.dtype}; supported are {supported}")
    if a.dim() != 2 or b.dim() != 2:
        raise ValueError(f"{kernel}: a has rank {a.dim()}, b {b.dim()}; both must be matrices (rank 2)")
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"{kernel}: a {tuple(a.shape)} has {a.shape[1]} columns, b {tuple(b.shape)} {b.shape[0]} rows; "
            "both must be K"
        )


def collapse(shape: tuple[int, ...], *strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The sizes and strides of the same elements in the fewest dimensions, outermost first in the last tensor's memory.

    Dimensions of size 1 are dropped, and neighbours merged where one stride walks through both in every tensor (as
    torch's TensorIterator does). `shape` must hold no 0.

    >>> collapse((2, 3, 4), (12, 4, 1), (24, 8, 2))
    ((24,), ((1,), (2,)))
    >>> collapse((2, 3), (1, 2), (3, 1))
    ((2, 3), ((1, 2), (3, 1)))
    """
    axes = [axis for axis in range(len(shape)) if shape[axis] != 1]
    axes.sort(key=lambda axis: -strides[-1][axis])
    merged: list[tuple[int, tuple[int, ...]]] = []
    for axis in axes:
        size, steps = shape[axis], tuple(stride[axis] for stride in strides)
        if merged and all(outer == size * step for outer, step in zip(merged[-1][1], steps, strict=True)):
            size *= merged.pop()[0]
        merged.append((size, steps))
    merged = merged or [(1, (1,) * len(strides))]
    return tuple(size for size, _ in merged), tuple(zip(*(steps for _, steps in merged), strict=True))


def row_tile(columns: int, longest: int) -> tuple[int, int, int]:
    """The tile of a kernel that walks rows: (rows of a program, columns of a block, warps).

    Depends on the width of a row alone, never on the number of rows: so a row has the same bits in every batch.
    """
    block = min(triton.next_power_of_2(columns), longest)
    rows = max(1, 1024 // block)  # 1024 elements give 128 threads one 16-byte access of a half-precision dtype each
    warps = min(max(rows * block // 1024, 4), 16)  # 16 warps hold 32768 values in 64 registers a thread
    return rows, block, warps
