"""The ops `cross_entropy` and `cross_entropy_mean`: the loss of each row, and its mean over labels that count."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import permutation, shift

_INPUTS = dict(logits=kst.tensors("rows", "classes"), labels=kst.indices("rows", into="classes", ignore=-100))

cross_entropy = Op(
    reference=lambda logits, labels: torch.nn.functional.cross_entropy(logits, labels.long(), reduction="none"),
    inputs=_INPUTS,
    independent="rows",
    relations=[permutation("rows"), shift("logits")],
    name="cross_entropy",
)

cross_entropy_mean = Op(
    reference=lambda logits, labels: torch.nn.functional.cross_entropy(logits, labels.long()),
    inputs=_INPUTS,
    relations=[permutation("rows", exact=False, reduced=True), shift("logits")],
    name="cross_entropy_mean",
)
