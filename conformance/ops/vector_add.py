"""The op `vector_add`: elementwise addition."""

from __future__ import annotations

import strategies as kst
from conformance.op import Op
from conformance.relations import exchange, negation, permutation

vector_add = Op(
    reference=lambda x, y: x + y,
    inputs=dict(x=kst.tensors("rows", "cols"), y=kst.tensors("rows", "cols")),
    independent="rows",
    relations=[permutation("rows"), permutation("cols"), exchange("x", "y"), negation("x", "y")],
    exact=True,
    name="vector_add",
)
