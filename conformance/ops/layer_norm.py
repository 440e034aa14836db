"""The op `layer_norm`, over the last axis (Ba, Kiros and Hinton, arXiv 1607.06450)."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import negation, permutation, shift

layer_norm = Op(
    reference=lambda x, w, b, eps: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b, eps),
    inputs=dict(x=kst.tensors("rows", "cols"), w=kst.tensors("cols"), b=kst.tensors("cols"), eps=kst.epsilons()),
    independent="rows",
    relations=[permutation("rows"), permutation("cols", exact=False), negation("x", "b"), shift("x")],
    name="layer_norm",
)
