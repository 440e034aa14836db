"""The op `attention` of one head under a mask; a query that may look at nothing gives 0, as torch's does."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import doubling, permutation


def _reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    scores = (q @ k.T * q.shape[-1] ** -0.5).masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1).masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
    return weights @ v


attention = Op(
    reference=_reference,
    inputs=dict(
        q=kst.tensors("queries", "head"),
        k=kst.tensors("keys", "head"),
        v=kst.tensors("keys", "width"),
        mask=kst.masks("queries", "keys"),
    ),
    axes=dict(head=kst.sizes(min=1)),
    independent="queries",
    relations=[permutation("queries"), permutation("keys", exact=False, reduced=True), doubling("v")],
    name="attention",
)
