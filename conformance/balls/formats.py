"""Floating-point formats: precision, range and rounding of the dtypes that kernels store and compute in."""

from __future__ import annotations

import dataclasses
import functools

import torch


@dataclasses.dataclass(frozen=True)
class Format:
    """One floating-point format.

    `precision` counts the hidden bit; `emin` is the exponent of the smallest normal number; `largest` the largest
    finite value. `saturates` is True where a conversion on sm_90 clamps instead of overflowing (PTX ISA `satfinite`).
    """

    name: str
    precision: int
    emin: int
    largest: float
    saturates: bool = False

    @functools.cached_property
    def unit(self) -> float:
        """Unit roundoff: the largest relative error of one rounding to nearest, `2**-precision`."""
        return 2.0**-self.precision

    @functools.cached_property
    def tiny(self) -> float:
        """Smallest normal number (the flush-to-zero threshold)."""
        return 2.0**self.emin

    @functools.cached_property
    def half_spacing(self) -> float:
        """Largest absolute rounding error in the subnormal range (for float64 twice that: the least float64)."""
        return float(2.0 ** max(self.emin - self.precision, -1074))

    @functools.cached_property
    def overflow(self) -> float:
        """Smallest magnitude that rounds to infinity: half a unit in the last place beyond `largest`."""
        return self.largest * (1.0 + 2.0 ** -(self.precision + 1)) if self.precision < 52 else self.largest


FORMATS: dict[torch.dtype, Format] = {
    torch.float64: Format("float64", 53, -1022, torch.finfo(torch.float64).max),
    torch.float32: Format("float32", 24, -126, torch.finfo(torch.float32).max),
    torch.float16: Format("float16", 11, -14, 65504.0),
    torch.bfloat16: Format("bfloat16", 8, -126, torch.finfo(torch.bfloat16).max),
    torch.float8_e4m3fn: Format("float8_e4m3fn", 4, -6, 448.0, saturates=True),
    torch.float8_e5m2: Format("float8_e5m2", 3, -14, 57344.0, saturates=True),
}

# operands of a TF32 product: the tensor core reads the raw float32 bits and drops 13 of them (PTX ISA, `mma .tf32`),
# so one operand is off by up to 2**-10 and not by half of that
TF32_OPERAND = 2.0**-10
# and below the smallest normal by up to the last bit that is kept: 13 above the least float32
TF32_QUANTUM = 2.0**-136
# a TF32x3 product keeps three of four partial products of operands split in two: about 3 * 2**-22 (CUTLASS, 3xTF32)
TF32X3_PRODUCT = 3 * 2.0**-22
# there the second half of an operand is lost once it is below the quantum: it is a multiple of the operand's last bit,
# 2**-23 of its power of two, so from 2**-113 on nothing of it is below 2**-136
TF32X3_BELOW = 2.0**-113
