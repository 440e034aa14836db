"""The op `quantize_int8`: to the nearest multiple of a scale, ties to even, saturated at both ends."""

from __future__ import annotations

import torch

import strategies as kst
from conformance.op import Op

quantize_int8 = Op(
    reference=lambda x, scale: torch.clamp(torch.round(x / scale), -128, 127).to(torch.int8),
    # half of the scales put every value exactly between two results, and all divide without an error
    inputs=dict(
        x=kst.tensors("rows", "cols", domain=kst.ties(step=0.25), special=False), scale=kst.choices(0.25, 0.5, 0.125)
    ),
    independent="rows",
    name="quantize_int8",
)
