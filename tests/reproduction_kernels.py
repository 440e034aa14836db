"""Kernels with the faults that no kernel of `conformance.faults` is made for, in a module that scripts can import."""

from __future__ import annotations

import torch

import strategies as kst
from conformance import Op
from conformance.faults import Fault
from conformance.relations import permutation

double = Op(
    lambda x: x * 2,
    {"x": kst.tensors("rows", "cols", dtypes=kst.FLOATS)},
    independent="rows",
    relations=[permutation("rows")],
    name="double",
)


def first_row_only(x: torch.Tensor) -> torch.Tensor:
    """Twice `x`, with the bits of all rows but the first one ulp away."""
    out = x * 2
    out[1:] = torch.nextafter(out[1:], torch.full_like(out[1:], float("inf")))
    return out


def never_refuses(x: torch.Tensor) -> torch.Tensor:
    """Twice `x` in every dtype, though only one is promised."""
    return x * 2


relations = Fault("first_row_only", double, first_row_only, None, ("relations",), "LOGIC", "nextafter")
refusals = Fault(
    "never_refuses", double, never_refuses, None, ("refusals",), "DTYPE", "x * 2", promises={"dtypes": (torch.float32,)}
)
