"""Cross entropy that loads the logit of an ignored label, 100 places before its row."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import cross_entropy
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(logits_ptr, labels_ptr, loss_ptr, classes, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    column = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row * classes + column, mask=column < classes, other=-float("inf")).to(COMPUTE)
    top = tl.max(x, axis=0)
    total = tl.sum(tl.exp(x - top), axis=0)
    counts = label != -100
    chosen = tl.load(logits_ptr + row * classes + label, mask=counts if FIXED else label == label, other=0.0).to(
        COMPUTE
    )
    loss = tl.log(total) - (chosen - top)
    tl.store(loss_ptr + row, tl.where(counts, loss, 0.0))


def _launch(logits: torch.Tensor, labels: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("cross_entropy", logits=logits)
    rows, classes = logits.shape
    loss = torch.empty(
        rows, dtype=torch.float64 if logits.dtype == torch.float64 else torch.float32, device=logits.device
    )
    if rows:
        _kernel[(rows,)](
            logits.contiguous(), labels.contiguous(), loss, classes,
            COMPUTE=COMPUTE[logits.dtype], FIXED=fixed, BLOCK=triton.next_power_of_2(classes),
        )  # fmt: skip
    return loss.to(logits.dtype)


def _faulty(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return _launch(logits, labels, fixed=False)


def _fixed(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return _launch(logits, labels, fixed=True)


fault = Fault(
    name="cross_entropy_ignored_label",
    op=cross_entropy,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("bounds",),
    klass="IDX",
    line="counts if FIXED else label == label",
    source="vllm-project/vllm#33326",
)
