"""Softmax of two rows a program that sums over both."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import softmax
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, out_ptr, rows, columns, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 2 + tl.arange(0, 2)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    live = (row < rows) & (column < columns)
    # a row past the last holds 0, not -inf: -inf - -inf would be NaN
    lowest = tl.where(row < rows, -float("inf"), 0.0)
    x = tl.load(x_ptr + row * columns + column, mask=live, other=-float("inf")).to(COMPUTE)
    x = tl.where(row < rows, x, lowest)
    numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
    per_row = tl.sum(numerator, axis=1)[:, None]
    total = per_row if FIXED else per_row * 0.0 + tl.sum(tl.where(live, numerator, 0.0))
    tl.store(out_ptr + row * columns + column, (numerator / total).to(out_ptr.dtype.element_ty), mask=live)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("softmax", x=x)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    if out.numel():
        _kernel[(triton.cdiv(rows, 2),)](
            x.contiguous(), out, rows, columns,
            COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=triton.next_power_of_2(columns),
        )  # fmt: skip
    return out


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="softmax_over_tile",
    op=softmax,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "batch_invariance"),
    klass="LOGIC",
    line="tl.sum(tl.where(live, numerator, 0.0))",
    source="",
)
