"""The op `vector_add`: elementwise addition."""

from __future__ import annotations

import strategies as kst
from conformance.op import Op

vector_add = Op(
    reference=lambda x, y: x + y,
    inputs=dict(x=kst.tensors("rows", "cols"), y=kst.tensors("rows", "cols")),
    independent="rows",
    exact=True,
    name="vector_add",
)
