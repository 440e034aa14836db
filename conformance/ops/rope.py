"""The op `rope`: rotary embedding of the two halves of each head (Su et al., arXiv 2104.09864)."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import negation, permutation


def _reference(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    c, s = cos[:, None, :], sin[:, None, :]
    return torch.cat([first * c - second * s, second * c + first * s], dim=-1)


rope = Op(
    reference=_reference,
    inputs=dict(
        x=kst.tensors("tokens", "heads", "2*half"),
        cos=kst.tensors("tokens", "half", domain=kst.bounded(-1, 1)),
        sin=kst.tensors("tokens", "half", domain=kst.bounded(-1, 1)),
    ),
    independent="tokens",
    relations=[permutation("tokens"), negation("x")],
    name="rope",
)
