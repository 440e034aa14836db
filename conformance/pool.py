"""A pool of memory for the tensors of several calls, which fly together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from conformance.memory import WORDS, Bytes, plain

# of a pool: more than the tensors of the calls that fly together take, and only pages that are touched are committed
_POOL = 1 << 25
# what torch aligns storages to, and pages begin at
_ALIGNMENT = 64


class Pool:
    """An allocator of storages side by side in one block of memory, so that one index reaches all of them.

    What does not fit lies elsewhere. A storage keeps the whole block alive.
    """

    size = _POOL

    def __init__(self) -> None:
        block = np.empty(_POOL + _ALIGNMENT, np.uint8)
        self._bytes: Bytes = block[-block.ctypes.data % _ALIGNMENT :][:_POOL]
        self.address: int = self._bytes.ctypes.data
        self._used = 0

    def __call__(self, elements: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """A 1-D tensor of that many elements, content undefined."""
        start, end = self._used, self._used + elements * dtype.itemsize
        word = WORDS.get(dtype)
        if end > _POOL or word is None:
            return plain(elements, dtype, device)
        self._used = end + -end % _ALIGNMENT
        return torch.from_numpy(self._bytes[start:end].view(word))

    def elements(self, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """The block as elements of a type."""
        return self._bytes.view(dtype)
