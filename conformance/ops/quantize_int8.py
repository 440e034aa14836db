"""The op `quantize_int8`: to the nearest multiple of a scale, ties to even, saturated at both ends."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op
from conformance.relations import permutation

quantize_int8 = Op(
    reference=lambda x, scale: torch.clamp(torch.round(x / scale), -128, 127).to(torch.int8),
    # a quarter of the values of x divide to a tie under 0.5, and odd whole numbers under 2; no division has an error
    inputs=dict(
        x=kst.tensors("rows", "cols", domain=kst.ties(step=0.25), special=False), scale=kst.choices(2.0, 0.25, 0.5)
    ),
    independent="rows",
    relations=[permutation("rows")],
    exact=True,
    name="quantize_int8",
)
