"""The op `softmax`, over the last axis."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import padding, permutation, shift

softmax = Op(
    reference=lambda x: torch.softmax(x, dim=-1),
    inputs=dict(x=kst.tensors("rows", "cols")),
    independent="rows",
    relations=[permutation("rows"), permutation("cols", exact=False), shift("x"), padding("cols", x=-torch.inf)],
    name="softmax",
)
