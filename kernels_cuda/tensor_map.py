"""Tensor maps: what the copy engine of a GPU knows of a matrix (CUDA driver API, tensor map object management)."""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import torch

BYTES = 128  # CUtensorMap
ALIGNMENT = 64
LARGEST_PITCH = 2**40  # bytes, exclusive
LARGEST_SIZE = 2**31  # elements of an axis, exclusive: coordinates are 32-bit integers

# cuda.h: CUtensorMapDataType by element size, CUtensorMapSwizzle, CUtensorMapL2promotion
_UNSIGNED = {1: 0, 2: 1, 4: 2, 8: 4}
_SWIZZLE_128B = 3
_L2_256B = 3


def encode(tensor: torch.Tensor, rows: int, columns: int) -> bytes:
    """The map of a matrix for boxes of `rows` by `columns` elements, 128-byte swizzled, zeros outside the matrix.

    Rows must be contiguous and start at multiples of 16 bytes, less than 2**40 bytes apart; no axis may be empty.
    Raises RuntimeError where the driver refuses.
    """
    size = tensor.element_size()
    pitch = tensor.stride(0) * size if tensor.shape[0] > 1 else -(-tensor.shape[1] * size // 16) * 16
    return _encode(tensor.data_ptr(), size, *tensor.shape, pitch, rows, columns)


@functools.lru_cache(maxsize=1024)  # 10 us by ctypes, at every launch on the same matrix
def _encode(address: int, size: int, height: int, width: int, pitch: int, rows: int, columns: int) -> bytes:
    room = np.zeros(BYTES + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    status = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(room.ctypes.data + start),
        _UNSIGNED[size],
        2,
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * 2)(width, height),
        (ctypes.c_uint64 * 1)(pitch),
        (ctypes.c_uint32 * 2)(columns, rows),
        (ctypes.c_uint32 * 2)(1, 1),
        0,
        _SWIZZLE_128B,
        _L2_256B,
        0,
    )
    if status:
        raise RuntimeError(
            f"cuTensorMapEncodeTiled: error {status} for a {height} x {width} matrix of {size}-byte elements at "
            f"{address:#x}, rows {pitch} bytes apart, in boxes of {rows} x {columns}"
        )
    return room[start : start + BYTES].tobytes()


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")
