"""The op `matmul`: the product of two matrices."""

from __future__ import annotations

import strategies as kst
from conformance.op import Op
from conformance.relations import doubling, negation, padding, permutation, selection, transposition

matmul = Op(
    reference=lambda a, b: a @ b,
    inputs=dict(a=kst.tensors("m", "k"), b=kst.tensors("k", "n")),
    relations=[
        permutation("m", exact=False),
        permutation("n", exact=False),
        permutation("k", exact=False, reduced=True),
        padding("k", reduced=True, a=0.0, b=0.0),
        negation("a"),
        doubling("a"),
        selection("a", "b"),
        transposition("a", "b"),
    ],
    exact=True,
    name="matmul",
)
