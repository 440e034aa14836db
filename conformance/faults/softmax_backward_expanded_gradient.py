"""Gradient of softmax that walks the gradient of its result by rows, also where `sum().backward()` expanded it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_triton.arguments import COMPUTE, check_tensors

_softmax_backward = Op(
    reference=lambda y, dy: y * (dy - (y * dy).sum(dim=-1, keepdim=True)),
    inputs=dict(y=kst.tensors("rows", "cols", domain=kst.probabilities()), dy=kst.tensors("rows", "cols")),
    independent="rows",
    name="softmax_backward",
)


@triton.jit
def _kernel(y_ptr, dy_ptr, out_ptr, columns, dy_stride, dy_step, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK).to(tl.int64)
    live = column < columns
    y = tl.load(y_ptr + row * columns + column, mask=live, other=0.0).to(COMPUTE)
    dy = tl.load(dy_ptr + row * dy_stride + column * dy_step, mask=live, other=0.0).to(COMPUTE)
    out = y * (dy - tl.sum(y * dy, axis=0))
    tl.store(out_ptr + row * columns + column, out.to(out_ptr.dtype.element_ty), mask=live)


def _launch(y: torch.Tensor, dy: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("softmax_backward", y=y, dy=dy)
    y = y.contiguous()
    rows, columns = y.shape
    out = torch.empty_like(y)
    if out.numel():
        _kernel[(rows,)](
            y, dy, out, columns, *(dy.stride() if fixed else (columns, 1)),
            COMPUTE=COMPUTE[y.dtype], BLOCK=triton.next_power_of_2(columns),
        )  # fmt: skip
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="softmax_backward_expanded_gradient",
    op=_softmax_backward,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("bounds", "layouts"),
    klass="STR",
    line="dy.stride() if fixed else (columns, 1)",
    source="ROCm/TransformerEngine#623",
    promises={"order": "tree"},
)
