"""Gradient of a total variation distance that is -0.5 where both distributions agree, and not 0."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import launch_flat, twins
from conformance.op import Op

_distance_backward = Op(
    reference=lambda p, q: torch.sign(p - q) * 0.5,
    inputs=dict(p=kst.tensors("rows", "cols"), q=kst.tensors("rows", "cols")),
    independent="rows",
    name="distance_backward",
)


@triton.jit
def _kernel(p_ptr, q_ptr, out_ptr, n, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(p_ptr + i, mask=i < n).to(COMPUTE)
    q = tl.load(q_ptr + i, mask=i < n).to(COMPUTE)
    low = tl.where(p < q, -0.5, 0.0) if FIXED else -0.5
    gradient = tl.where(p > q, 0.5, low)
    tl.store(out_ptr + i, gradient.to(out_ptr.dtype.element_ty), mask=i < n)


def _launch(p: torch.Tensor, q: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    return launch_flat(_kernel, p, q, fixed=fixed)


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="distance_backward_ties",
    op=_distance_backward,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="LOGIC",
    line="tl.where(p < q, -0.5, 0.0) if FIXED else -0.5",
    source="linkedin/Liger-Kernel#1373",
    promises={"nan": "ignore"},
)
