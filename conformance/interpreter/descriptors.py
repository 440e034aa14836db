"""Tensor descriptors and block pointers: blocks of a tensor that are addressed by their position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as stock
from triton._C.libtriton import ir

from conformance.interpreter.access import Memory
from conformance.interpreter.builder import Array, storage_dtype
from conformance.interpreter.tape import Handle


class Descriptor:
    """A tensor descriptor inside a kernel: base, shape and strides as handles."""

    def __init__(
        self, base: Handle, shape: list[Handle], strides: list[Handle], block_shape: list[int], padding: Any
    ) -> None:
        self.base, self.shape, self.strides, self.block_shape, self.padding = base, shape, strides, block_shape, padding
        self.ndim = len(shape)
        self.round_f32_to_tf32 = False


class BlockPointer(Descriptor):
    """A block pointer (up to Triton 3.7): a descriptor with a position."""

    def __init__(self, base: Handle, shape: Any, strides: Any, offsets: list[Handle], block_shape: list[int]) -> None:
        super().__init__(base, list(shape), list(strides), list(block_shape), None)
        self.offsets = offsets


class Descriptors(Memory):
    """The builder's operations on descriptors."""

    def create_make_tensor_descriptor(
        self,
        base: Handle,
        shape: Sequence[Handle],
        strides: Sequence[Handle],
        tensor_shape: Sequence[int],
        is_signed: bool,
        padding: Any = ir.PADDING_OPTION.PAD_ZERO,
    ) -> Descriptor:
        """A descriptor, checked as the hardware demands."""
        descriptor = Descriptor(base, list(shape), list(strides), [int(n) for n in tensor_shape], padding)
        width = max(1, base.get_element_ty().primitive_bitwidth // 8)

        def check(address: Array, *steps: Array) -> None:
            if (address % 16).any():
                raise ValueError("tensor descriptor: the base must be aligned to 16 bytes")
            if any((step * width % 16).any() for step in steps[:-1]):
                raise ValueError("tensor descriptor: every stride but the last must be a multiple of 16 bytes")
            if (steps[-1] != 1).any():
                raise ValueError("tensor descriptor: the last dimension must be contiguous")

        self.recording.emit(check, (base, *descriptor.strides), tl.void, (), effect=True)
        return descriptor

    def _materialize(
        self,
        desc: Descriptor,
        offsets: Sequence[Handle],
        block: Sequence[int],
        checked: tuple[int, ...] | None = None,
    ) -> tuple[Handle, Handle]:
        rank, lanes = len(block), tuple(block)
        width = max(1, desc.base.get_element_ty().primitive_bitwidth // 8)
        grids = [np.arange(n).reshape((1,) * (1 + d) + (n,) + (1,) * (rank - 1 - d)) for d, n in enumerate(block)]
        aligned = checked is None
        axes = range(rank) if checked is None else checked

        def positions(starts: Sequence[Array]) -> list[Array]:
            out = []
            for start, grid in zip(starts, grids, strict=True):
                wide = start.astype(np.int64)
                if wide.size > wide.shape[0]:  # a block of rows: descriptor gather and scatter
                    out.append(wide.reshape(wide.shape[0], -1, *(1,) * (rank - 1)))
                else:
                    out.append(wide.reshape(wide.shape[0], *(1,) * rank) + grid)
            return out

        def addresses(base: Array, *rest: Array) -> Array:
            starts, steps = rest[:rank], rest[rank:]
            if aligned and (starts[-1].astype(np.int64) * width % 16).any():
                raise ValueError("tensor descriptor: the block's start must be aligned to 16 bytes")
            ptr = base.reshape(base.shape[0], *(1,) * rank)
            for position, step in zip(positions(starts), steps, strict=True):
                ptr = ptr + position * (step.reshape(step.shape[0], *(1,) * rank).astype(np.int64) * width)
            return ptr

        def inside(*rest: Array) -> Array:
            starts, sizes = rest[:rank], rest[rank:]
            mask = np.ones((1,) * (rank + 1), np.bool_)
            places = positions(starts)
            for axis in axes:
                size = sizes[axis].reshape(sizes[axis].shape[0], *(1,) * rank)
                mask = mask & (places[axis] >= 0) & (places[axis] < size)
            return mask

        dtype = desc.base.dtype.scalar
        pointers = self.recording.emit(addresses, (desc.base, *offsets, *desc.strides), dtype, lanes)
        pointers.origin = desc.base.origin
        return pointers, self.recording.emit(inside, (*offsets, *desc.shape), tl.int1, lanes)

    def create_descriptor_load(self, desc: Descriptor, indices: Sequence[Handle], *_: Any) -> Handle:
        """The block at the indices, padded outside the tensor."""
        return self._load_block(desc, *self._materialize(desc, indices, desc.block_shape))

    def _load_block(self, desc: Descriptor, pointers: Handle, mask: Handle) -> Handle:
        element = pointers.get_element_ty()
        dtype = storage_dtype(element.name)
        zero = desc.padding == ir.PADDING_OPTION.PAD_ZERO or not element.is_floating()
        value = np.zeros((1, 1), dtype) if zero else np.full((1, 1), np.nan).astype(dtype)
        other = self.recording.constant(value.reshape((1,) * (1 + len(pointers.shape))), element)
        result = self.create_masked_load(pointers, mask, other)
        if desc.round_f32_to_tf32 and element.name == "fp32":
            result = self.recording.emit(stock._round_f32_to_tf32, (result,), element, result.shape)
        return result

    def create_descriptor_store(self, desc: Descriptor, value: Handle, indices: Sequence[Handle]) -> Handle:
        """Store a block at the indices; nothing outside the tensor is written."""
        pointers, mask = self._materialize(desc, indices, desc.block_shape)
        return self.create_masked_store(pointers, value, mask)

    def create_descriptor_gather(self, desc: Descriptor, x_offsets: Handle, y_offset: Handle, *_: Any) -> Handle:
        """Rows at `x_offsets`, columns from `y_offset` on."""
        block = (x_offsets.shape[0], desc.block_shape[-1])
        return self._load_block(desc, *self._materialize(desc, (x_offsets, y_offset), block))

    def create_descriptor_scatter(
        self, desc: Descriptor, value: Handle, x_offsets: Handle, y_offset: Handle, *_: Any
    ) -> Handle:
        """Store rows at `x_offsets`, columns from `y_offset` on."""
        block = (x_offsets.shape[0], desc.block_shape[-1])
        pointers, mask = self._materialize(desc, (x_offsets, y_offset), block)
        return self.create_masked_store(pointers, value, mask)

    # block pointers
    def create_make_block_ptr(
        self, base: Handle, shape: Any, strides: Any, offsets: Sequence[Handle], block_shape: Sequence[int], _: Any
    ) -> BlockPointer:
        """A block pointer."""
        return BlockPointer(base, shape, strides, list(offsets), [int(n) for n in block_shape])

    def create_advance(self, ptr: BlockPointer, offsets: Sequence[Handle]) -> BlockPointer:
        """A block pointer at another position."""
        moved = [self.create_add(a, b) for a, b in zip(ptr.offsets, offsets, strict=True)]
        return BlockPointer(ptr.base, ptr.shape, ptr.strides, moved, ptr.block_shape)

    def create_tensor_pointer_load(self, ptr: BlockPointer, boundary_check: Any, padding: Any, *_: Any) -> Handle:
        """The block, padded outside the tensor along the axes that are checked."""
        pointers, mask = self._materialize(ptr, ptr.offsets, ptr.block_shape, tuple(boundary_check))
        if padding is None:
            return self.create_masked_load(pointers, mask, None)
        ptr.padding = padding
        return self._load_block(ptr, pointers, mask)

    def create_tensor_pointer_store(self, ptr: BlockPointer, value: Handle, boundary_check: Any, *_: Any) -> Handle:
        """Store a block; nothing outside the tensor is written along the axes that are checked."""
        pointers, mask = self._materialize(ptr, ptr.offsets, ptr.block_shape, tuple(boundary_check))
        return self.create_masked_store(pointers, value, mask)
