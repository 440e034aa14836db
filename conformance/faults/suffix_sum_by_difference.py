"""Sums from each element to the end of its row, as the total minus the sum before it: small ends are lost."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_triton.arguments import COMPUTE, check_tensors

_suffix_sum = Op(
    reference=lambda x: x.flip(-1).cumsum(-1).flip(-1),
    inputs=dict(x=kst.tensors("rows", "cols")),
    independent="rows",
    exact=True,
    name="suffix_sum",
)


@triton.jit
def _kernel(x_ptr, out_ptr, columns, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0).to(COMPUTE)
    if FIXED:  # noqa: SIM108
        out = tl.cumsum(x, axis=0, reverse=True)
    else:
        out = tl.sum(x, axis=0) - tl.cumsum(x, axis=0) + x
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=column < columns)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("suffix_sum", x=x)
    x = x.contiguous()
    rows, columns = x.shape
    out = torch.empty_like(x)
    if out.numel():
        _kernel[(rows,)](x, out, columns, COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=triton.next_power_of_2(columns))
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="suffix_sum_by_difference",
    op=_suffix_sum,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="STAB",
    line="tl.sum(x, axis=0) - tl.cumsum(x, axis=0) + x",
    source="fla-org/flash-linear-attention#1095",
    promises={"order": "any"},
)
