"""The op `matmul`: the product of two matrices."""

from __future__ import annotations

import strategies as kst
from conformance.op import Op

matmul = Op(
    reference=lambda a, b: a @ b,
    inputs=dict(a=kst.tensors("m", "k"), b=kst.tensors("k", "n")),
    exact=True,
    name="matmul",
)
