"""Loads, stores and atomics: the operations of a tape that touch memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import interpreter as native
from triton._C.libtriton import ir

from conformance.interpreter import formats
from conformance.interpreter.builder import Array, numpy_dtype
from conformance.interpreter.shapes import Shapes
from conformance.interpreter.sites import here
from conformance.interpreter.tape import Handle


def full(value: Array, shape: tuple[int, ...]) -> Array:
    """The value as a writeable contiguous array of a shape; up to Triton 3.8 the native code wants one."""
    flags = value.flags
    if value.shape == shape and flags.c_contiguous and flags.writeable:
        return value
    whole = np.empty(shape, value.dtype)
    whole[...] = value
    return whole


def poison(dtype: np.dtype[Any]) -> Any:
    """What a masked-off lane holds that the kernel gave no `other`: NaN, or all bits set, or 0xA5 for a byte."""
    if dtype == np.bool_:
        return np.True_
    pattern = b"\xa5" if dtype.itemsize == 1 else b"\xff" * dtype.itemsize
    return np.frombuffer(pattern, dtype)[0]


def _merged(elements: Array, mask: Array, lacking: Any) -> Array:
    """The elements, which are overwritten, and `lacking` where the mask is false."""
    if mask.shape == elements.shape and np.size(lacking) == 1:
        np.copyto(elements, lacking, where=~mask)  # a fourth of the time of np.where on 8,192 lanes
        return elements
    merged: Array = np.where(mask, elements, lacking)
    return merged


class Memory(Shapes):
    """The builder's operations on memory."""

    def _access(self, ptr: Handle) -> tuple[np.dtype[Any], int]:
        element = ptr.get_element_ty()
        # an int1 occupies a byte
        return numpy_dtype(element), max(1, element.primitive_bitwidth // 8)

    def _inputs(self, ptr: Handle, *rest: Handle | None) -> tuple[list[Handle], Any, int]:
        """Inputs of a step: the pointer, the block of origins where programs choose a tensor, the taint, the others."""
        inputs, origin = [ptr], ptr.origin
        if isinstance(origin, Handle):
            inputs.append(origin)
        if isinstance(ptr.derived, Handle):
            inputs.append(ptr.derived)
        first = len(inputs)
        return inputs + [h for h in rest if h is not None], origin, first

    def create_load(self, ptr: Handle, *_: Any) -> Handle:
        """The values at the addresses."""
        return self.create_masked_load(ptr, None, None)

    def create_masked_load(
        self, ptrs: Handle, mask: Handle | None, other: Handle | None, *_: Any, ordered: bool | None = None, **__: Any
    ) -> Handle:
        """The values at the addresses of the lanes that the mask allows, `other` elsewhere."""
        machine, site, shape = self.machine, here(), ptrs.shape
        dtype, width = self._access(ptrs)
        inputs, origin, first = self._inputs(ptrs, mask, other)
        chosen, masked, filled = isinstance(origin, Handle), mask is not None, other is not None
        junk, tainted = poison(dtype), isinstance(ptrs.derived, Handle)
        plain = ordered is None and not chosen and dtype.itemsize == width

        def load(ptr: Array, *rest: Array) -> Array:
            launch = machine.launch
            allowed = rest[first - 1] if masked else None
            if launch.tracer is not None and plain and (not tainted or rest[first - 2] is None):
                elements: Array | None = launch.tracer.gather(ptr, allowed, origin, dtype)
                if elements is not None:
                    if allowed is None:
                        return elements
                    lacking = rest[-1] if filled else junk if launch.poison else dtype.type(0)
                    return _merged(elements, allowed, lacking)
            n = max([ptr.shape[0], *[v.shape[0] for v in rest[first - 1 :]]])
            lanes = (n, *(shape or (1,)))
            ptr = full(ptr, lanes)
            legal = allowed = None if allowed is None else full(allowed, lanes)
            if launch.tracer is not None:
                where = rest[0] if chosen else origin
                if ordered is None:
                    legal = launch.tracer.read(ptr, allowed, width, where, site)
                else:
                    legal = launch.tracer.atomic(ptr, allowed, width, where, site, ordered, writes=False)
                if tainted and rest[first - 2] is not None:
                    launch.tracer.overflow(rest[first - 2], allowed, ptr, origin)
            if filled:
                fill = full(rest[-1], lanes)
            elif legal is None:
                fill = np.empty(lanes, dtype)
            else:
                fill = np.full(lanes, junk if launch.poison else 0, dtype)
            if legal is None:
                legal = np.ones(lanes, np.bool_)
            result: Array = native.load(ptr.view(np.uint64), legal, fill, dtype)
            return result

        element = ptrs.get_element_ty()
        if element.is_ptr():

            def load_address(ptr: Array, *rest: Array) -> Array:
                return load(ptr, *rest).view(np.int64)

            return self.recording.emit(load_address, inputs, element, shape, effect=True)
        return self.recording.emit(load, inputs, element, shape, effect=True)

    def create_store(self, ptr: Handle, val: Handle, *_: Any) -> Handle:
        """Store to every lane's address."""
        return self.create_masked_store(ptr, val, None)

    def create_masked_store(
        self, ptrs: Handle, value: Handle, mask: Handle | None, *_: Any, ordered: bool | None = None, **__: Any
    ) -> Handle:
        """Store to the addresses of the lanes that the mask allows."""
        machine, site, shape = self.machine, here(), ptrs.shape
        dtype, width = self._access(ptrs)
        inputs, origin, first = self._inputs(ptrs, value, mask)
        chosen, masked, tainted = isinstance(origin, Handle), mask is not None, isinstance(ptrs.derived, Handle)
        plain = ordered is None and not chosen

        def store(ptr: Array, *rest: Array) -> None:
            launch = machine.launch
            lanes = (machine.batch.size, *(shape or (1,)))
            ptr = full(ptr, lanes)
            data = full(rest[first - 1], lanes)
            legal = full(rest[-1], lanes) if masked else None
            if launch.tracer is not None:
                if (
                    plain
                    and data.dtype.itemsize == width
                    and (not tainted or rest[first - 2] is None)
                    and launch.tracer.scatter(ptr, data, legal, origin, site)
                ):
                    return
                allowed = legal
                where = rest[0] if chosen else origin
                if ordered is None:
                    legal = launch.tracer.write(ptr, data, legal, width, where, site)
                else:
                    legal = launch.tracer.atomic(ptr, legal, width, where, site, ordered)
                if tainted and rest[first - 2] is not None:
                    launch.tracer.overflow(rest[first - 2], allowed, ptr, origin)
            if legal is None:
                legal = np.ones(lanes, np.bool_)
            if data.dtype.itemsize != width:
                data = data.astype(dtype)
            native.store(ptr.view(np.uint64), data, legal)

        return self.recording.emit(store, inputs, tl.void, (), effect=True)

    def create_atomic_rmw(self, op: Any, ptr: Handle, val: Handle, mask: Handle, sem: Any, *_: Any) -> Handle:
        """The old values; programs go one after another, in the order of the batch."""
        machine, site, shape = self.machine, here(), ptr.shape
        dtype, width = self._access(ptr)
        inputs, origin, first = self._inputs(ptr, val, mask)
        chosen = isinstance(origin, Handle)
        semantic = self.ir_sem_to_interpreter_sem[sem]
        update = _updater(self, op, val, dtype, semantic)
        ordered = sem != ir.MEM_SEMANTIC.RELAXED
        rounding = val.dtype.scalar.is_floating() and op in (ir.ATOMIC_OP.FADD, ir.ATOMIC_OP.ADD)

        def rmw(ptr: Array, *rest: Array) -> Array:
            launch = machine.launch
            lanes = (machine.batch.size, *(shape or (1,)))
            ptr = full(ptr, lanes)
            data, legal = full(rest[first - 1], lanes), full(rest[-1], lanes)
            if rounding and launch.observation is not None:
                launch.observation.float_atomics = True
            if launch.tracer is not None:
                legal = launch.tracer.atomic(ptr, legal, width, rest[0] if chosen else origin, site, ordered)
            return update(ptr.view(np.uint64), data, legal)

        return self.recording.emit(rmw, inputs, val.dtype.scalar, shape, effect=True)

    def create_atomic_cas(self, ptr: Handle, cmp: Handle, val: Handle, sem: Any, *_: Any) -> Handle:
        """The old values; the new one is stored where the old one equals `cmp`."""
        machine, site, shape = self.machine, here(), ptr.shape
        width = self._access(ptr)[1]
        inputs, origin, first = self._inputs(ptr, cmp, val)
        chosen = isinstance(origin, Handle)
        semantic = self.ir_sem_to_interpreter_sem[sem]
        ordered = sem != ir.MEM_SEMANTIC.RELAXED

        def cas(ptr: Array, *rest: Array) -> Array:
            launch = machine.launch
            lanes = (machine.batch.size, *(shape or (1,)))
            ptr = full(ptr, lanes)
            expected, data = full(rest[first - 1], lanes), full(rest[-1], lanes)
            if launch.observation is not None:
                launch.observation.float_atomics = True  # a lock, or a loop, by which floats may be added up
            if launch.tracer is None:
                result: Array = native.atomic_cas(ptr.view(np.uint64), expected, data, semantic)
                return result
            legal = launch.tracer.atomic(ptr, None, width, rest[0] if chosen else origin, site, ordered)
            if legal is None:
                return native.atomic_cas(ptr.view(np.uint64), expected, data, semantic)  # type: ignore[no-any-return]
            result = expected.copy()  # an illegal lane changes nothing and finds what it hoped for
            if legal.any():
                result[legal] = native.atomic_cas(ptr.view(np.uint64)[legal], expected[legal], data[legal], semantic)
            return result

        return self.recording.emit(cas, inputs, cmp.dtype.scalar, shape, effect=True)

    def create_atomic_load(self, ptr: Handle, mask: Handle | None, sem: Any, *_: Any) -> Handle:
        """The values at the addresses, ordered with other programs' atomics."""
        return self.create_masked_load(ptr, mask, None, ordered=sem != ir.MEM_SEMANTIC.RELAXED)

    def create_atomic_store(self, ptr: Handle, val: Handle, mask: Handle | None, sem: Any, *_: Any) -> Handle:
        """Store, ordered with other programs' atomics."""
        return self.create_masked_store(ptr, val, mask, ordered=sem != ir.MEM_SEMANTIC.RELAXED)


def _updater(
    builder: Memory, op: Any, val: Handle, dtype: np.dtype[Any], semantic: Any
) -> Callable[[Array, Array, Array], Array]:
    """How an atomic changes memory: the native code, or one lane after another for the formats it does not know."""
    if val.dtype.scalar.name != "bf16":
        which = builder.ir_rmw_op_to_interpreter_rmw_op[op]
        return lambda ptr, data, legal: native.atomic_rmw(which, ptr, data, legal, semantic)
    table: dict[Any, Callable[[Array, Array], Array]] = {
        ir.ATOMIC_OP.FADD: np.add,
        ir.ATOMIC_OP.ADD: np.add,
        ir.ATOMIC_OP.MAX: np.fmax,
        ir.ATOMIC_OP.MIN: np.fmin,
        ir.ATOMIC_OP.XCHG: lambda _, new: new,
    }
    combine = table[op]

    def update(ptr: Array, data: Array, legal: Array) -> Array:
        result = np.zeros(ptr.shape, np.uint16)
        one = np.ones(1, np.bool_)
        for where in zip(*np.nonzero(legal), strict=True):
            address = ptr[where].reshape(1)
            old = native.load(address, one, np.zeros(1, np.uint16), np.dtype(np.uint16))
            new = combine(formats.decode(old, "bf16"), formats.decode(data[where].reshape(1), "bf16"))
            native.store(address, formats.encode(new, "bf16"), one)
            result[where] = old[0]
        return result

    return update
