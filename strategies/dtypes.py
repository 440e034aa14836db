"""Element types: the groups that arguments are drawn from, and the number format of each floating type."""

from __future__ import annotations

import dataclasses
import functools
import math

import torch

Dtypes = tuple[torch.dtype, ...]

#: The floating types of most kernels, the simplest first: a counterexample in float32 is the easiest to read.
FLOATS: Dtypes = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
#: The 16-bit floating types.
HALVES: Dtypes = (torch.float16, torch.bfloat16)
#: The two 8-bit floating types that GPUs multiply (sm_89 and later).
FLOAT8S: Dtypes = (torch.float8_e4m3fn, torch.float8_e5m2)
#: Signed and unsigned integers.
INTEGERS: Dtypes = (torch.int32, torch.int64, torch.int8, torch.int16, torch.uint8)
#: The two types that PyTorch takes for indices.
INDICES: Dtypes = (torch.int32, torch.int64)
#: Truth values.
BOOLS: Dtypes = (torch.bool,)


@dataclasses.dataclass(frozen=True)
class Format:
    """The number format of a floating type: `digits` of the significand (with the hidden one), smallest normal
    exponent, largest finite value, smallest subnormal."""

    digits: int
    emin: int
    largest: float
    tiny: float

    @property
    def smallest(self) -> float:
        """The smallest normal number."""
        return 2.0**self.emin


@functools.cache
def format_of(dtype: torch.dtype) -> Format:
    """The number format of a floating `dtype`.

    >>> format_of(torch.float16).digits, format_of(torch.float16).largest
    (11, 65504.0)
    """
    info = torch.finfo(dtype)
    digits = 1 - _exponent(info.eps)
    emin = _exponent(info.smallest_normal)
    return Format(digits, emin, info.max, 2.0 ** (emin - digits + 1))


def _exponent(power_of_two: float) -> int:
    return math.frexp(power_of_two)[1] - 1


def name_of(dtype: torch.dtype) -> str:
    """The name of a type as PyTorch has it, without the module.

    >>> name_of(torch.bfloat16)
    'bfloat16'
    """
    return str(dtype).removeprefix("torch.")


def dtype_of(name: str) -> torch.dtype:
    """The type of a name; the inverse of `name_of`. Raises ValueError for a name that is no type."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{name!r} is no torch dtype")
    return dtype
