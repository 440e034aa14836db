"""The content of memory that nobody wrote: recognisable, and hostile to whoever reads it."""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

Poison = Literal["nan", "large"]

# Poisoning a lazily committed storage would commit it: past this size memory is left as the system gives it, zero.
LIMIT = 1 << 26  # bytes

_WORD = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}
_NUMPY: dict[torch.dtype, npt.DTypeLike] = {
    torch.uint8: np.uint8,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.int32: np.int32,
    torch.int64: np.int64,
}


@functools.cache
def pattern(dtype: torch.dtype, poison: Poison) -> tuple[torch.dtype, int]:
    """The integer dtype to fill a storage of `dtype` with, and the word to fill.

    "nan": a quiet NaN with a payload for floats, a large negative number for integers. "large": a finite number near
    the top of the range, for what drops NaN (`tl.max` does) or compares with it. Two runs that differ in nothing but
    the poison show whatever depends on unwritten memory.
    """
    word = _WORD[dtype.itemsize]
    if dtype == torch.bool:
        return torch.uint8, int(poison == "nan")  # any other byte is undefined behaviour in torch
    if dtype.is_complex:
        word, dtype = _WORD[dtype.itemsize // 2], dtype.to_real()
    if not dtype.is_floating_point:
        value = torch.iinfo(dtype).min + 0x2B if poison == "nan" else torch.iinfo(dtype).max - 0x2B
        if word == torch.uint8 and dtype == torch.int8:
            word = torch.int8
        elif not dtype.is_signed:
            value = 0xA5 if poison == "nan" else 0x5A
            value = int.from_bytes(bytes([value]) * dtype.itemsize, "little", signed=dtype.itemsize > 1)
        return word, value
    if poison == "large":
        top = torch.tensor(torch.finfo(dtype).max / 2, dtype=torch.float64).to(dtype)
        return word, int(top.view(word).item())
    nan = torch.full((1,), float("nan")).to(dtype).view(word)
    payload = 0x2B if dtype.itemsize > 1 else 0  # one-byte formats have no room for a payload
    return word, int((nan | payload).item())


def fill(storage: torch.Tensor, poison: Poison = "nan") -> None:
    """Fill the whole of a dense tensor with poison, unless it is so large that it must stay uncommitted."""
    if storage.numel() * storage.element_size() <= LIMIT and storage.numel():
        word, value = pattern(storage.dtype, poison)
        storage.view(word).fill_(value)


def fill_bytes(memory: npt.NDArray[np.uint8], dtype: torch.dtype, poison: Poison = "nan") -> None:
    """The same for the bytes of a tensor of `dtype` in CPU memory, in a quarter of the time."""
    if 0 < memory.size <= LIMIT:
        word, value = pattern(dtype, poison)
        memory.view(_NUMPY[word]).fill(value)


def is_poison(tensor: torch.Tensor, poison: Poison) -> torch.Tensor:
    """A mask of the elements whose bits are those of the poison."""
    word, value = pattern(tensor.dtype, poison)
    if tensor.dtype.is_complex:
        return is_poison(torch.view_as_real(tensor.contiguous()), poison).any(-1)
    return tensor.contiguous().view(word) == value
