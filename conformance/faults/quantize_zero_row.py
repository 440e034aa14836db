"""Quantization by the largest magnitude of a row, which divides 0 by 0 where a row is all zeros."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_triton.arguments import COMPUTE, check_tensors


def _reference(x: torch.Tensor) -> torch.Tensor:
    scale = x.abs().amax(dim=-1, keepdim=True)
    return torch.where(scale > 0, x / torch.where(scale > 0, scale, torch.ones_like(scale)), torch.zeros_like(x))


_normalize = Op(
    reference=_reference,
    inputs=dict(x=kst.tensors("rows", "cols", special=False)),
    axes=dict(cols=kst.sizes(min=1)),
    independent="rows",
    name="normalize_by_amax",
)


@triton.jit
def _kernel(x_ptr, out_ptr, columns, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0).to(COMPUTE)
    scale = tl.max(tl.abs(x), axis=0)
    scale = tl.where(scale > 0.0, scale, 1.0 if FIXED else scale)
    tl.store(out_ptr + row * columns + column, (x / scale).to(out_ptr.dtype.element_ty), mask=column < columns)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("normalize", x=x)
    x = x.contiguous()
    rows, columns = x.shape
    out = torch.empty_like(x)
    if out.numel():
        _kernel[(rows,)](x, out, columns, COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=triton.next_power_of_2(columns))
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="quantize_zero_row",
    op=_normalize,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy",),
    klass="STAB",
    line="1.0 if FIXED else scale",
    source="huggingface/kernels-community#680",
)
