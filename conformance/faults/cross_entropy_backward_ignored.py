"""Gradient of cross entropy that forgets that rows with an ignored label have none."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.faults.launchers import twins
from conformance.op import Op
from kernels_triton.arguments import COMPUTE, check_tensors

_cross_entropy_backward = Op(
    reference=lambda logits, labels: torch.where(
        (labels == -100)[:, None],
        0.0,
        torch.softmax(logits, dim=-1)
        - torch.nn.functional.one_hot(labels.long().clamp(min=0), logits.shape[-1]).to(logits.dtype),
    ).to(logits.dtype),
    inputs=dict(logits=kst.tensors("rows", "classes"), labels=kst.indices("rows", into="classes", ignore=-100)),
    independent="rows",
    name="cross_entropy_backward",
)


@triton.jit
def _kernel(logits_ptr, labels_ptr, out_ptr, classes, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    column = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row * classes + column, mask=column < classes, other=-float("inf")).to(COMPUTE)
    numerator = tl.exp(x - tl.max(x, axis=0))
    gradient = numerator / tl.sum(numerator, axis=0) - tl.where(column == label, 1.0, 0.0)
    gradient = tl.where(label == -100, 0.0 if FIXED else gradient, gradient)
    tl.store(out_ptr + row * classes + column, gradient.to(out_ptr.dtype.element_ty), mask=column < classes)


def _launch(logits: torch.Tensor, labels: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("cross_entropy_backward", logits=logits)
    rows, classes = logits.shape
    out = torch.empty((rows, classes), dtype=logits.dtype, device=logits.device)
    if out.numel():
        _kernel[(rows,)](
            logits.contiguous(), labels.contiguous(), out, classes,
            COMPUTE=COMPUTE[logits.dtype], FIXED=fixed, BLOCK=triton.next_power_of_2(classes),
        )  # fmt: skip
    return out


_faulty, _fixed = twins(_launch)

fault = Fault(
    name="cross_entropy_backward_ignored",
    op=_cross_entropy_backward,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy",),
    klass="IDX",
    line="0.0 if FIXED else gradient",
    source="linkedin/Liger-Kernel#968",
    promises={"order": "tree"},
)
