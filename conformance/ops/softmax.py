"""The op `softmax`, over the last axis."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op

softmax = Op(
    reference=lambda x: torch.softmax(x, dim=-1),
    inputs=dict(x=kst.tensors("rows", "cols")),
    independent="rows",
    name="softmax",
)
