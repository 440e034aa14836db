"""The op `embedding`: rows of a table, gathered by index."""

from __future__ import annotations

import strategies as kst
from conformance.op import Op
from conformance.relations import negation, permutation

embedding = Op(
    reference=lambda table, index: table[index.long()],
    inputs=dict(table=kst.tensors("entries", "width"), index=kst.indices("tokens", into="entries")),
    independent="tokens",
    relations=[permutation("tokens"), negation("table")],
    exact=True,
    name="embedding",
)
