"""Shapes and pointers: what moves lanes about without computing anything from their values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import triton.language as tl

from conformance.interpreter import overflow
from conformance.interpreter.builder import Array, Builder, expand, numpy_dtype
from conformance.interpreter.tape import Handle


def _shape_taint(op: Callable[..., Any], taint: overflow.Taint | None) -> overflow.Taint | None:
    return None if taint is None else overflow.Taint(op(taint.lanes), taint.place, taint.detail)


class Shapes(Builder):
    """The builder's operations on shapes and pointers."""

    def create_reshape(self, arg: Handle, shape: Sequence[int], allow_reorder: bool) -> Handle:
        """The block in another shape."""
        old, new = arg.shape, tuple(int(n) for n in shape)
        # a splat keeps its one element
        return self._shaped(
            arg,
            lambda a: (
                a.reshape(a.shape[0], *(1,) * len(new))
                if a.size == a.shape[0]
                else expand(a, old).reshape(a.shape[0], *new)
            ),
            new,
        )

    def _shaped(self, arg: Handle, op: Callable[..., Any], shape: tuple[int, ...]) -> Handle:
        result = self.recording.emit(op, (arg,), arg.dtype.scalar, shape)
        derived = arg.derived
        if arg.dtype.scalar.is_ptr():
            origin = arg.origin
            result.origin = (
                self.recording.emit(op, (origin,), tl.int32, shape) if isinstance(origin, Handle) else origin
            )
            if derived is not None:
                result.derived = self.recording.emit(functools.partial(_shape_taint, op), (derived,), None)
        elif derived is not None:
            result.derived = overflow.Chain("shape", (derived,), op)
        return result

    def create_trans(self, arg: Handle, perm: Sequence[int]) -> Handle:
        """The block with its axes in another order."""
        axes = [0, *(int(p) + 1 for p in perm)]
        rank = len(axes)
        return self._shaped(
            arg,
            lambda a: np.transpose(a if a.ndim == rank else a.reshape(a.shape[0], *(1,) * (rank - 1)), axes),
            tuple(arg.shape[int(p)] for p in perm),
        )

    def create_expand_dims(self, arg: Handle, axis: int) -> Handle:
        """The block with a new axis of one."""
        if not arg.shape:
            return self._alias(arg, (1,))
        shape = (*arg.shape[:axis], 1, *arg.shape[axis:])
        place = (slice(None),) * (axis + 1) + (None,)
        return self._shaped(arg, operator.itemgetter(place), shape)

    def create_broadcast(self, arg: Handle, shape: Sequence[int]) -> Handle:
        """The block repeated along axes of one; nothing is copied."""
        return self._alias(arg, tuple(int(n) for n in shape))

    def _alias(self, arg: Handle, shape: tuple[int, ...]) -> Handle:
        result = self.recording.alias(arg, arg.dtype.scalar, shape)
        result.derived, result.origin = arg.derived, arg.origin
        return result

    def create_splat(self, ret_ty: Any, arg: Handle) -> Handle:
        """A block of one scalar; nothing is copied."""
        shape = tuple(int(n) for n in ret_ty.shape)
        if not arg.shape and len(shape) == 1:
            return self._alias(arg, shape)
        # a scalar has an axis of one beside that of programs
        return self._shaped(arg, operator.itemgetter((..., *(None,) * (len(shape) - 1))), shape)

    def create_unsplat(self, arg: Handle) -> Handle:
        """The scalar of a block of one."""
        return self._shaped(arg, lambda a: a.reshape(a.shape[0], -1)[:, :1], ())

    def create_cat(self, lhs: Handle, rhs: Handle) -> Handle:
        """One block behind the other."""
        shapes = lhs.shape, rhs.shape

        def cat(a: Array, b: Array) -> Array:
            n = max(a.shape[0], b.shape[0])
            parts = [np.broadcast_to(v, (n, *s)) for v, s in zip((a, b), shapes, strict=True)]
            return np.concatenate(parts, 1)

        return self.recording.emit(cat, (lhs, rhs), lhs.dtype.scalar, (lhs.shape[0] + rhs.shape[0], *lhs.shape[1:]))

    def create_join(self, lhs: Handle, rhs: Handle) -> Handle:
        """Two blocks side by side in a new last axis."""
        scalar = not lhs.shape

        def join(a: Array, b: Array) -> Array:
            result = np.stack(np.broadcast_arrays(a, b), -1)
            return result.reshape(result.shape[0], 2) if scalar else result

        return self.recording.emit(join, (lhs, rhs), lhs.dtype.scalar, (*lhs.shape, 2))

    def create_split(self, val: Handle) -> tuple[Handle, Handle]:
        """The two halves of a last axis of two."""
        shape = val.shape[:-1]

        def half(i: int) -> Handle:
            def pick(a: Array) -> Array:
                part = expand(a, val_shape)[..., i]
                return part if shape else part.reshape(-1, 1)

            return self.recording.emit(pick, (val,), val.dtype.scalar, shape)

        val_shape = val.shape
        return half(0), half(1)

    def create_gather(self, src: Handle, indices: Handle, axis: int) -> Handle:
        """src at the indices along an axis."""
        shapes = src.shape, indices.shape

        def gather(a: Array, i: Array) -> Array:
            n = max(a.shape[0], i.shape[0])
            full = [np.broadcast_to(v, (n, *s)) for v, s in zip((a, i), shapes, strict=True)]
            result: Array = np.take_along_axis(full[0], full[1], axis=axis + 1 if axis >= 0 else axis)
            return result

        return self.recording.emit(gather, (src, indices), src.dtype.scalar, indices.shape)

    # pointers
    def create_addptr(self, ptr: Handle, offset: Handle) -> Handle:
        """The address some elements further on."""
        width = np.int64(max(1, ptr.get_element_ty().primitive_bitwidth // 8))
        if numpy_dtype(offset.dtype) == np.int64:

            def add(p: Array, o: Array) -> Array:
                result: Array = p + o * width
                return result
        else:

            def add(p: Array, o: Array) -> Array:
                result: Array = p + np.multiply(o, width, dtype=np.int64, casting="unsafe")
                return result

        result = self.recording.emit(add, (ptr, offset), ptr.dtype, ptr.shape or offset.shape)
        result.origin = ptr.origin
        if self.watching:
            result.derived = overflow.join(
                self.recording, ptr.derived, overflow.watch(self.recording, overflow.chain_of(offset))
            )
        return result
