"""What the launchers share: checks of the arguments, and how tensors lie in memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

# the kernels take this many axes that do not collapse into each other; MAX_DIMS of packs.cuh
MAX_DIMS = 8
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
VECTOR_BYTES = 16
GRID_WIDTH = 2**31 - 1
CPU_GRID_WIDTH = 3


def check_tensor(name: str, value: object, *, dtypes: Sequence[torch.dtype] = FLOATS, dims: int | None = None) -> None:
    """Refuse what is no dense tensor of one of `dtypes` with `dims` axes: TypeError or ValueError, naming it."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if value.layout != torch.strided:
        raise TypeError(f"{name} must be a dense tensor, got layout {value.layout}")
    if value.dtype not in dtypes:
        raise TypeError(f"{name} must have one of the dtypes {', '.join(map(str, dtypes))}, got {value.dtype}")
    if dims is not None and value.dim() != dims:
        raise ValueError(f"{name} must have {dims} axes, got shape {tuple(value.shape)}")


def check_pair(name: str, value: torch.Tensor, other_name: str, other: torch.Tensor) -> None:
    """Refuse two tensors that differ in dtype (TypeError) or device (ValueError), naming both."""
    if value.dtype != other.dtype:
        raise TypeError(f"{name} and {other_name} must have one dtype, got {value.dtype} and {other.dtype}")
    if value.device != other.device:
        raise ValueError(f"{name} and {other_name} must be on one device, got {value.device} and {other.device}")


def check_product(a: object, b: object, dtypes: Sequence[torch.dtype] = FLOATS) -> None:
    """Refuse what is no pair of matrices to multiply: TypeError or ValueError, naming the argument."""
    check_tensor("a", a, dtypes=dtypes, dims=2)
    check_tensor("b", b, dtypes=dtypes, dims=2)
    assert isinstance(a, torch.Tensor)
    assert isinstance(b, torch.Tensor)
    check_pair("a", a, "b", b)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"a's columns and b's rows must be as many, got {tuple(a.shape)} and {tuple(b.shape)}")


def suffix(dtype: torch.dtype) -> str:
    """The end of the name of the kernels for a dtype: `float16`."""
    return str(dtype).removeprefix("torch.")


def aligned(tensor: torch.Tensor) -> bool:
    """Whether the first element lies at a multiple of 16 bytes, as a vector access needs."""
    return tensor.data_ptr() % VECTOR_BYTES == 0


def pitched(matrix: torch.Tensor) -> bool:
    """Whether every row starts at a multiple of 16 bytes and its elements are neighbours."""
    return matrix.stride(1) == 1 and matrix.stride(0) % (VECTOR_BYTES // matrix.element_size()) == 0 and aligned(matrix)


def vector_rows(tensor: torch.Tensor) -> bool:
    """Whether the rows along the last axis are whole runs of 16 bytes that vector accesses can read one by one."""
    pack = VECTOR_BYTES // tensor.element_size()
    steps = zip(tensor.shape[:-1], tensor.stride()[:-1], strict=True)
    whole = tensor.shape[-1] % pack == 0 and tensor.stride(-1) == 1
    return whole and aligned(tensor) and all(size == 1 or stride % pack == 0 for size, stride in steps)


def collapse(sizes: Sequence[int], *strides: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Sizes and strides of the same index space with as few axes as possible, at least one.

    Axes of size 1 go; an axis joins the next one where, in every tensor, a step along it is as long as that whole axis.

    >>> collapse((2, 1, 3, 4), (12, 99, 4, 1))
    ([24], [[1]])
    >>> collapse((2, 3), (3, 1), (1, 2))
    ([2, 3], [[3, 1], [1, 2]])
    """
    joined: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        here = [stride[axis] for stride in strides]
        if joined and all(step[-1] == stride * size for step, stride in zip(steps, here, strict=True)):
            joined[-1] *= size
            for step, stride in zip(steps, here, strict=True):
                step[-1] = stride
        else:
            joined.append(size)
            for step, stride in zip(steps, here, strict=True):
                step.append(stride)
    if not joined:
        return [1], [[0] for _ in strides]
    return joined, steps


def check_axes(name: str, sizes: Sequence[int]) -> None:
    """Refuse more axes than a kernel takes: ValueError, naming the argument."""
    if len(sizes) > MAX_DIMS:
        raise ValueError(
            f"{name} has {len(sizes)} axes that do not collapse, the kernel takes {MAX_DIMS}: pass {name}.contiguous()"
        )


def rows_of(name: str, x: torch.Tensor) -> dict[str, Any]:
    """The struct `Rows` of packs.cuh: the rows of `x` along its last axis."""
    sizes, (strides,) = collapse(x.shape[:-1], x.stride()[:-1])
    check_axes(name, sizes)
    return {
        "count": math.prod(x.shape[:-1]),
        "columns": x.shape[-1],
        "column_stride": x.stride(-1),
        "dims": len(sizes),
        "size": sizes,
        "stride": strides,
    }


@functools.cache
def multiprocessors(device: torch.device) -> int:
    """How many multiprocessors a CUDA device has; 2 elsewhere, so that the blocks of a small problem meet, and each has
    several tiles of it."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 2


def row_grid(blocks: int, device: torch.device) -> tuple[int, int]:
    """The grid of `blocks` blocks: wide, and deep where they are more than a grid may be wide; on the CPU that is
    `CPU_GRID_WIDTH`, so that a small problem has a deep grid.

    >>> row_grid(7, torch.device("cpu")), row_grid(7, torch.device("cuda"))
    ((3, 3), (7, 1))
    """
    width = GRID_WIDTH if device.type == "cuda" else CPU_GRID_WIDTH
    return (blocks, 1) if blocks <= width else (width, -(-blocks // width))
