"""The ops `gelu` and `gelu_tanh`: the exact function and its usual approximation (arXiv 1606.08415)."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import permutation

gelu = Op(
    reference=lambda x: torch.nn.functional.gelu(x),
    inputs=dict(x=kst.tensors("rows", "cols")),
    independent="rows",
    relations=[permutation("rows")],
    name="gelu",
)

gelu_tanh = Op(
    reference=lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    inputs=dict(x=kst.tensors("rows", "cols")),
    independent="rows",
    relations=[permutation("rows")],
    name="gelu_tanh",
)
