"""Launches that many faults share: the dense copies, the output and the grid are right, what is wrong is elsewhere.

Each kernel takes a constexpr `FIXED` that says whether it is the faulty kernel or its twin.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import triton

from kernels_triton.arguments import COMPUTE, check_tensors


def twins(launch: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The faulty kernel and its repaired twin: `launch` with `fixed=False`, and with `fixed=True`."""

    @functools.wraps(launch)
    def faulty(*arguments: Any) -> Any:
        return launch(*arguments, fixed=False)

    @functools.wraps(launch)
    def fixed(*arguments: Any) -> Any:
        return launch(*arguments, fixed=True)

    for kernel in (faulty, fixed):
        del kernel.__wrapped__  # a kernel has no parameter `fixed`
    return faulty, fixed


def check_single(**tensors: torch.Tensor) -> None:
    """Nothing, if all are float32 tensors.

    Raises:
        TypeError: one is of another dtype.
    """
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float32:
            raise TypeError(f"{name} must be float32, got {tensor.dtype}")


def launch_flat(
    kernel: Any, *inputs: torch.Tensor, scalars: tuple[Any, ...] = (), fixed: bool, block: int = 32
) -> torch.Tensor:
    """The result of `kernel(*inputs, out, n, *scalars)` over the flattened inputs, in blocks of `block`."""
    check_tensors("kernel", **{f"argument {i}": tensor for i, tensor in enumerate(inputs)})
    dense = [tensor.contiguous() for tensor in inputs]
    out = torch.empty_like(dense[0])
    n = out.numel()
    if n:
        kernel[(triton.cdiv(n, block),)](
            *dense, out, n, *scalars, COMPUTE=COMPUTE[out.dtype], FIXED=fixed, BLOCK=block
        )  # fmt: skip
    return out


def launch_rows(
    kernel: Any,
    x: torch.Tensor,
    *others: torch.Tensor,
    scalars: tuple[Any, ...] = (),
    fixed: bool,
    block: int | None = None,
    reduce: bool = False,
) -> torch.Tensor:
    """The result of `kernel(x, *others, out, columns, *scalars)`, one program a row of the dense `x`.

    `out` has the shape of `x`, without the last axis for `reduce`. The block holds a row, or has `block` columns.
    """
    check_tensors("kernel", x=x, **{f"argument {i}": tensor for i, tensor in enumerate(others, 1)})
    dense = [tensor.contiguous() for tensor in (x, *others)]
    rows, columns = x.shape
    out = torch.empty((rows,) if reduce else (rows, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        kernel[(rows,)](
            *dense, out, columns, *scalars,
            COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=block or triton.next_power_of_2(max(columns, 1)),
        )  # fmt: skip
    return out


def launch_tiles(kernel: Any, a: torch.Tensor, b: torch.Tensor, *, fixed: bool, block: int = 16) -> torch.Tensor:
    """The result of `kernel(a, b, out, M, N, K)` for dense matrices, one program a tile, all blocks of size `block`."""
    check_tensors("kernel", a=a, b=b)
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((M, N), dtype=a.dtype, device=a.device)
    if out.numel():
        kernel[(triton.cdiv(M, block), triton.cdiv(N, block))](
            a.contiguous(), b.contiguous(), out, M, N, K, COMPUTE=COMPUTE[a.dtype], FIXED=fixed, BLOCK=block
        )
    return out
