"""Addition with the rows on grid axis 1, which ends at 65535."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import vector_add
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, columns, COMPUTE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(ROWS)
    column = tl.program_id(1 - ROWS) * BLOCK + tl.arange(0, BLOCK)
    i = row * columns + column
    x = tl.load(x_ptr + i, mask=column < columns).to(COMPUTE)
    y = tl.load(y_ptr + i, mask=column < columns).to(COMPUTE)
    tl.store(out_ptr + i, (x + y).to(out_ptr.dtype.element_ty), mask=column < columns)


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("add", x=x, y=y)
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    blocks = triton.cdiv(columns, 16)
    if out.numel():
        _kernel[(rows, blocks) if fixed else (blocks, rows)](
            x.contiguous(), y.contiguous(), out, columns, COMPUTE=COMPUTE[x.dtype], ROWS=0 if fixed else 1, BLOCK=16
        )
    return out


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=True)


fault = Fault(
    name="add_rows_on_grid_y",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("offsets", "crash"),
    klass="SIZE",
    line="(rows, blocks) if fixed else (blocks, rows)",
    source="fla-org/flash-linear-attention#172",
)
