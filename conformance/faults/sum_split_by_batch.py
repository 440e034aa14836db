"""Row sum that is split in four where there is one row: a row alone is added up in another order than in a batch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.ops import row_sum
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, out_ptr, columns, SPLIT: tl.constexpr, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    total = tl.zeros((1,), COMPUTE)
    for part in range(SPLIT):
        live = (column < columns) & (column % SPLIT == part)
        total += tl.sum(tl.load(x_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE), axis=0)
    tl.store(out_ptr + row + tl.arange(0, 1), total.to(out_ptr.dtype.element_ty))


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("sum", x=x)
    rows, columns = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    split = 1 if fixed or rows > 1 else 4
    if rows:
        _kernel[(rows,)](
            x.contiguous(), out, columns, SPLIT=split, COMPUTE=COMPUTE[x.dtype],
            BLOCK=triton.next_power_of_2(max(columns, 1)),
        )  # fmt: skip
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="sum_split_by_batch",
    op=row_sum,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("batch_invariance",),
    klass="BATCH",
    line="1 if fixed or rows > 1 else 4",
    source="vllm-project/vllm#30528",
    promises={"order": "any"},
)
