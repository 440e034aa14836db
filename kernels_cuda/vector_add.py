"""Launcher of vector_add.cu."""

from __future__ import annotations

import pathlib

import torch

from kernels_cuda import launcher
from kernels_cuda.arguments import GRID_WIDTH, aligned, check_axes, check_pair, check_tensor, collapse, suffix

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
BLOCK = 256
UNROLL = 2  # packs a thread, UNROLL of the source


def vector_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x + y in the layout of `torch.empty_like(x)`, for two tensors of one shape, dtype and device, of any strides.

    dtypes are float16 to float64; the halves are added in float32 and rounded once, which gives the rounded exact sum.
    Raises TypeError for dtypes that differ or are not supported, ValueError for shapes or devices that differ, and for
    axes that collapse to more than eight.
    """
    check_tensor("x", x)
    check_tensor("y", y)
    check_pair("x", x, "y", y)
    if x.shape != y.shape:
        raise ValueError(f"x and y must have one shape, got {tuple(x.shape)} and {tuple(y.shape)}")
    out = torch.empty_like(x)
    count = out.numel()
    if count == 0:
        return out
    # out is dense, so its elements lie in the order of its axes by descending stride
    out_stride = out.stride()
    order = sorted(range(out.dim()), key=lambda axis: -out_stride[axis])
    sizes, (x_stride, y_stride) = collapse(*([t[axis] for axis in order] for t in (x.shape, x.stride(), y.stride())))
    check_axes("x", sizes)
    module, kind = launcher.load(SOURCE), suffix(x.dtype)
    contiguous = sizes == [1] or (len(sizes) == 1 and x_stride == y_stride == [1])
    if contiguous and aligned(x) and aligned(y) and aligned(out):
        elements = 16 // x.element_size() * UNROLL * BLOCK
        grid = min(-(-count // elements), GRID_WIDTH)
        module.launch(f"add_contiguous_{kind}", grid, BLOCK, (x, y, out, count))
        return out
    axes = {"dims": len(sizes), "size": sizes, "x_stride": x_stride, "y_stride": y_stride}
    grid = min(-(-count // BLOCK), GRID_WIDTH)
    module.launch(f"add_strided_{kind}", grid, BLOCK, (x, y, out, count, axes))
    return out
