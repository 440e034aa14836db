"""The op `silu_and_mul`: SwiGLU on gate and value side by side (Shazeer, arXiv 2002.05202)."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import permutation


def _reference(x: torch.Tensor) -> torch.Tensor:
    gate, value = x.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * value


silu_and_mul = Op(
    reference=_reference,
    inputs=dict(x=kst.tensors("rows", "2*half")),
    independent="rows",
    relations=[permutation("rows")],
    name="silu_and_mul",
)
