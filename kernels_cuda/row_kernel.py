"""Which kernel of softmax.cu and rms_norm.cu suits rows of a length, and how it is launched."""

from __future__ import annotations

import dataclasses

from kernels_cuda.arguments import VECTOR_BYTES

SHORT_COLUMNS, WARP_COLUMNS = 256, 1024  # 32 lanes of SHORT_ITEMS, of WARP_ITEMS elements
WARPS = 4  # of a block of the warp kernels
THREAD_BYTES = 64  # of a row in the registers of a thread of the block kernels: BLOCK_ITEMS
LEAST_THREADS, MOST_THREADS = 64, 512  # of a block of the block kernels
BLOCK_BYTES = MOST_THREADS * THREAD_BYTES
PACKS = 2 * 7  # BATCH * BATCHES: packs of a row that a thread of the long kernels has in shared memory
# Of the 228 KiB of shared memory of a multiprocessor of compute capability 9.0 (CUDA C++ programming guide, compute
# capabilities), 14 packs of 1024 threads take 224: rows that are not much longer than half of it go on two blocks.
TWO_ROWS = 128 * 1024


@dataclasses.dataclass(frozen=True)
class RowKernel:
    """The middle of a kernel's name, the threads and rows of a block, and its bytes of dynamic shared memory.

    A kernel that takes row after row is launched with as many `blocks` as a multiprocessor has at a time; otherwise
    `blocks` is None.
    """

    kind: str
    threads: int
    rows: int = 1
    shared: int = 0
    blocks: int | None = None


def warp_kernel(columns: int, element_size: int, *, vector: bool) -> RowKernel:
    """The kernel for rows of at most `WARP_COLUMNS` elements.

    >>> warp_kernel(512, 2, vector=True)
    RowKernel(kind='warp_vector', threads=128, rows=8, shared=0, blocks=None)
    """
    if not vector:
        return RowKernel("warp_any", 32 * WARPS, WARPS)
    if columns <= SHORT_COLUMNS:
        return RowKernel("short_vector", 32 * WARPS, WARPS)
    return RowKernel("warp_vector", 32 * WARPS, WARPS * (2 if columns <= WARP_COLUMNS // 2 else 1))


def block_kernel(columns: int, element_size: int, *, vector: bool) -> RowKernel:
    """The kernel for rows of at most `BLOCK_BYTES`. The length and dtype of a row alone decide on its threads.

    >>> block_kernel(4096, 2, vector=False)
    RowKernel(kind='block_any', threads=128, rows=1, shared=0, blocks=None)
    """
    threads = LEAST_THREADS
    while threads * THREAD_BYTES < columns * element_size:
        threads *= 2
    return RowKernel("block_vector" if vector else "block_any", threads)


def long_kernel(columns: int, element_size: int, *, vector: bool) -> RowKernel:
    """The kernel for rows of any length. The length and dtype of a row alone decide on its threads.

    >>> long_kernel(65536, 4, vector=True)
    RowKernel(kind='long_vector', threads=1024, rows=1, shared=229376, blocks=1)
    """
    size = columns * element_size
    one = size > TWO_ROWS and element_size < 8  # 1024 threads have 64 registers each: too few for float64
    threads, blocks = (1024, 1) if one else (512, 2)
    if not vector:
        return RowKernel("long_any", threads, blocks=blocks)
    return RowKernel("long_vector", threads, shared=min(size, PACKS * threads * VECTOR_BYTES), blocks=blocks)
