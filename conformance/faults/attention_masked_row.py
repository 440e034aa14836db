"""Attention in which a query that may look at nothing gives 0 / 0."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import attention
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(
    q_ptr, k_ptr, v_ptr, mask_ptr, out_ptr, keys, head, width, scale: tl.float64,
    COMPUTE: tl.constexpr, FIXED: tl.constexpr, KEYS: tl.constexpr, HEAD: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    query = tl.program_id(0)
    key = tl.arange(0, KEYS)
    h = tl.arange(0, HEAD)
    c = tl.arange(0, WIDTH)
    q = tl.load(q_ptr + query * head + h, mask=h < head, other=0.0).to(COMPUTE)
    k = tl.load(
        k_ptr + key[:, None] * head + h[None, :], mask=(key < keys)[:, None] & (h < head)[None, :], other=0.0
    ).to(COMPUTE)
    v = tl.load(
        v_ptr + key[:, None] * width + c[None, :], mask=(key < keys)[:, None] & (c < width)[None, :], other=0.0
    ).to(COMPUTE)
    allowed = tl.load(mask_ptr + query * keys + key, mask=key < keys, other=0) != 0
    scores = tl.sum(k * q[None, :], axis=1) * tl.full((1,), scale, COMPUTE)
    scores = tl.where(allowed, scores, -float("inf"))
    blind = tl.max(allowed.to(tl.int32), axis=0) == 0  # scores that are -inf by themselves give NaN, as in torch
    top = tl.max(scores, axis=0)
    if FIXED:
        top = tl.where(blind, 0.0, top)
    weights = tl.exp(scores - top)
    total = tl.sum(weights, axis=0)
    if FIXED:
        total = tl.where(blind, 1.0, total)
    out = tl.sum(weights[:, None] * v, axis=0) / total
    tl.store(out_ptr + query * width + c, out.to(out_ptr.dtype.element_ty), mask=c < width)


def _launch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("attention", q=q, k=k, v=v)
    (queries, head), (keys, width) = q.shape, v.shape
    out = torch.empty((queries, width), dtype=q.dtype, device=q.device)
    if not keys:
        return out.zero_()
    if out.numel():
        blocks = {name: triton.next_power_of_2(n) for name, n in (("KEYS", keys), ("HEAD", head), ("WIDTH", width))}
        _kernel[(queries,)](
            *(tensor.contiguous() for tensor in (q, k, v)), mask.contiguous().view(torch.uint8), out,
            keys, head, width, head**-0.5, COMPUTE=COMPUTE[q.dtype], FIXED=fixed, **blocks,
        )  # fmt: skip
    return out


def _faulty(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return _launch(q, k, v, mask, fixed=False)


def _fixed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return _launch(q, k, v, mask, fixed=True)


fault = Fault(
    name="attention_masked_row",
    op=attention,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="ROW",
    line="if FIXED:",
    source="NVIDIA/Model-Optimizer#1034",
)
