"""bfloat16 and the 8-bit floats as bit patterns: decoded to float32, and rounded back as the hardware does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

_TORCH = {
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}
# every code of the 8-bit formats as float32
_VALUES = {
    name: torch.arange(256, dtype=torch.int32).to(torch.uint8).view(dtype).float().numpy()
    for name, dtype in _TORCH.items()
}
# the formats whose values are held as bit patterns
SMALL = frozenset({"bf16", *_TORCH})


def decode(bits: Array, name: str) -> Array:
    """The float32 values of bit patterns."""
    if name == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return _VALUES[name][bits]


def encode(values: Array, name: str, toward_zero: bool = False) -> Array:
    """The bit patterns nearest to float values, ties to even; 8-bit formats saturate, as `cvt.rn.satfinite` does."""
    if name == "bf16":
        return _encode_bf16(values, toward_zero)
    largest = torch.finfo(_TORCH[name]).max
    x = torch.from_numpy(np.array(values, np.float32))
    x = torch.where(torch.isnan(x), x, x.clamp(-largest, largest))
    codes: Array = x.to(_TORCH[name]).view(torch.uint8).numpy()
    if toward_zero:
        # codes of one sign are ordered as their magnitudes: one too far from zero is one code too large
        codes = codes - (np.abs(decode(codes, name)) > np.abs(values)).astype(np.uint8)
    return codes


def _encode_bf16(values: Array, toward_zero: bool) -> Array:
    x = np.ascontiguousarray(values, dtype=np.float32)
    u = x.view(np.uint32)
    r = u if toward_zero else u + (np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1)))
    bits = (r >> np.uint32(16)).astype(np.uint16)
    nan = np.isnan(x)
    if nan.any():
        bits = np.where(nan, np.uint16(0x7FC0), bits)
    return bits.reshape(np.shape(values))


def round_to(values: Array, name: str) -> Array:
    """Float32 values rounded to a format, as float32."""
    if name == "fp16":
        return values.astype(np.float16).astype(np.float32)
    return decode(encode(values, name), name)


def truncate_tf32(values: Array) -> Array:
    """Float32 values as the tensor core reads them: the low 13 bits are ignored.

    Triton emits `mma ... tf32` without a rounding conversion, so the operand's bits reach the unit as they are.
    """
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)


def caster(source: str, target: str, toward_zero: bool) -> Callable[[Array], Array]:
    """The conversion between two types of which one is held as a bit pattern."""
    if target in SMALL:
        if source in SMALL:
            return lambda a: encode(decode(a, source), target, toward_zero)
        return lambda a: encode(a, target, toward_zero)
    dtype = tl_storage(target)
    if dtype == np.float32:
        return lambda a: decode(a, source)
    return lambda a: decode(a, source).astype(dtype)


def tl_storage(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a Triton type that is not held as a bit pattern."""
    names = {"fp16": "float16", "fp32": "float32", "fp64": "float64", "int1": "bool"}
    return np.dtype(names.get(name, name))
