"""The ops `row_sum` and `row_amax`: reductions over the last axis."""

from __future__ import annotations

import math

import strategies as kst
from conformance.op import Op
from conformance.relations import doubling, negation, padding, permutation

row_sum = Op(
    reference=lambda x: x.sum(dim=-1),
    inputs=dict(x=kst.tensors("rows", "cols")),
    independent="rows",
    relations=[
        permutation("rows"),
        permutation("cols", exact=False, reduced=True),
        padding("cols", reduced=True, x=0.0),
        negation("x"),
        doubling("x"),
    ],
    exact=True,
    name="row_sum",
)

row_amax = Op(
    reference=lambda x: x.amax(dim=-1),
    inputs=dict(x=kst.tensors("rows", "cols")),
    axes=dict(cols=kst.sizes(min=1)),
    independent="rows",
    relations=[
        permutation("rows"),
        permutation("cols", exact=False, reduced=True),
        padding("cols", reduced=True, x=-math.inf),
    ],
    exact=True,
    name="row_amax",
)
