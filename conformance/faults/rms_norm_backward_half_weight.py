"""Gradient of the weight of RMSNorm that adds up the rows in the dtype of the weight."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_triton.arguments import COMPUTE, check_tensors

_weight_gradient = Op(
    reference=lambda normal, dy: (normal * dy).sum(dim=0),
    inputs=dict(normal=kst.tensors("rows", "cols"), dy=kst.tensors("rows", "cols")),
    independent="cols",
    name="rms_norm_weight_gradient",
)


@triton.jit
def _kernel(
    normal_ptr, dy_ptr, out_ptr, rows, columns, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr
):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = column < columns
    total = tl.zeros((BLOCK,), COMPUTE if FIXED else out_ptr.dtype.element_ty)
    for row in range(rows):
        normal = tl.load(normal_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE)
        dy = tl.load(dy_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE)
        total = (total + normal * dy).to(total.dtype)
    tl.store(out_ptr + column, total.to(out_ptr.dtype.element_ty), mask=live)


def _launch(normal: torch.Tensor, dy: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("weight_gradient", normal=normal, dy=dy)
    rows, columns = normal.shape
    out = torch.empty(columns, dtype=normal.dtype, device=normal.device)
    if columns:
        _kernel[(triton.cdiv(columns, 32),)](
            normal.contiguous(), dy.contiguous(), out, rows, columns,
            COMPUTE=COMPUTE[normal.dtype], FIXED=fixed, BLOCK=32,
        )  # fmt: skip
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="rms_norm_backward_half_weight",
    op=_weight_gradient,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy",),
    klass="ACC",
    line="COMPUTE if FIXED else out_ptr.dtype.element_ty",
    source="linkedin/Liger-Kernel#950",
)
