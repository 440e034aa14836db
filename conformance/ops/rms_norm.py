"""The op `rms_norm`, over the last axis (Zhang and Sennrich, arXiv 1910.07467)."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import doubling, negation, permutation

rms_norm = Op(
    reference=lambda x, w, eps: torch.nn.functional.rms_norm(x, (x.shape[-1],), w, eps),
    inputs=dict(x=kst.tensors("rows", "cols"), w=kst.tensors("cols"), eps=kst.epsilons()),
    independent="rows",
    relations=[permutation("rows"), permutation("cols", exact=False), negation("x"), doubling("w")],
    name="rms_norm",
)
