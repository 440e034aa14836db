"""Guarded, poisoned tensors: what the kernel under test is given, and what it allocates itself.

Every tensor lies in a storage of its own with a guard zone before and after it; guard zones, the gaps of a strided view
and fresh allocations are filled with poison. Afterwards the bytes of inputs and guard zones are compared.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import mmap
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.jit._builtins import _find_builtin, _register_builtin

from conformance.poison import LIMIT, Poison, fill, fill_bytes
from conformance.regions import Arena, Region, Role

# Bytes up to which a tensor on a device is laid out on the host, and compared there: one copy each way takes the place
# of a dozen small kernels and their waits (`conformance bench gpu`, H200, 8 workers: 2,311 calls a second for 1,155).
_STAGED = 1 << 20

Bytes = npt.NDArray[np.uint8]

# the dtypes that NumPy has too
WORDS = {
    dtype: torch.empty(0, dtype=dtype).numpy().dtype
    for dtype in (
        torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
        torch.bool,
    )
}  # fmt: skip

# Bytes of guard zone on each side; a multiple of 64, so that the tensor keeps the alignment of its storage, and wider
# than one 32-lane access of 16-byte vectors.
GUARD = 512


class Allocator(Protocol):
    """Where storages come from: plain torch memory, lazily committed pages, or fenced device memory.

    An allocator with a method `guarded(elements, offset, dtype, device, *, aligned) -> (storage, first)` lays the guard
    zones itself: it has none on a side that is flush against an unmapped page.
    """

    def __call__(self, elements: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """A 1-D tensor of that many elements, content undefined."""
        ...


# as torch has them: `_install` wraps them for the kernels under test
_empty, _clone = torch.empty, torch.Tensor.clone


def plain(elements: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A 1-D tensor from torch's own allocator."""
    return _empty(elements, dtype=dtype, device=device)


def lazy(elements: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A 1-D CPU tensor of zeros over pages that the system commits when they are touched (MAP_NORESERVE)."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    size = max(1, elements) * dtype.itemsize
    pages = mmap.mmap(-1, size, flags=flags)
    return torch.frombuffer(pages, dtype=dtype)[:elements]


def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The elements of storage from the first to the last element of a view, both counted; 0 for an empty one."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


class Placed:
    """A tensor in a guarded storage, with what the storage held at the start of the launch.

    That is `blank`, poison and nothing else, or the bytes `before`; neither where the storage is too large to copy.
    `bytes` are those of a storage in CPU memory.
    """

    __slots__ = ("address", "before", "blank", "bytes", "lies", "name", "region", "storage", "tensor")

    def __init__(
        self,
        name: str,
        tensor: torch.Tensor,
        storage: torch.Tensor,
        region: Region,
        before: bytes | None = None,
        blank: Poison | None = None,
        memory: Bytes | None = None,
    ) -> None:
        self.name, self.tensor, self.storage, self.region = name, tensor, storage, region
        self.before, self.blank, self.bytes = before, blank, memory
        self.address = storage.untyped_storage().data_ptr()
        self.lies = self.geometry()

    def geometry(self) -> tuple[Any, ...]:
        """Shape, strides and address of the tensor now; they may not change."""
        tensor = self.tensor
        return tensor.shape, tensor.stride(), tensor.data_ptr()

    def changed(self) -> torch.Tensor | None:
        """The byte offsets (from the first element) that changed and may not have; None if there are none.

        For a region that kernels may write only the bytes outside its elements count.
        """
        if not self.storage.numel() or (self.before is None and self.blank is None):
            return None
        after = self.bytes if self.bytes is not None else self.storage.view(torch.uint8).cpu().numpy()
        writable = self.region.role is not Role.IN
        if self._spotless(after) if self.blank is not None and writable else after.tobytes() == self.before:
            return None
        if self.before is not None:
            before = np.frombuffer(self.before, np.uint8)
        else:
            before = np.empty_like(after)
            fill_bytes(before, self.tensor.dtype, self.blank or "nan")
        if writable:
            after = after.copy()
            _elements_of(after, self.tensor)[...] = _elements_of(before, self.tensor)
        offsets = np.flatnonzero(after != before)
        first = int(self.tensor.storage_offset()) * self.tensor.element_size()
        return torch.from_numpy(offsets - first) if offsets.size else None

    def _spotless(self, after: Bytes) -> bool:
        """Whether all but the elements of a contiguous tensor is poison as before: the usual case."""
        tensor = self.tensor
        if not tensor.is_contiguous():
            return False
        first = tensor.storage_offset() * tensor.element_size()
        last = first + tensor.numel() * tensor.element_size()
        dtype, poison = tensor.dtype, self.blank or "nan"
        return after[:first].tobytes() == _blank(first, dtype, poison) and after[last:].tobytes() == _blank(
            after.size - last, dtype, poison
        )


@functools.lru_cache(maxsize=256)
def _blank(size: int, dtype: torch.dtype, poison: Poison) -> bytes:
    """So many bytes of poison."""
    memory = np.empty(size, np.uint8)
    fill_bytes(memory, dtype, poison)
    return memory.tobytes()


def _elements_of(memory: Bytes, tensor: torch.Tensor) -> Any:
    """The view of `tensor` into the bytes of its storage, each element once."""
    word = np.dtype((np.void, tensor.element_size()))
    shape = tuple(1 if s == 0 else n for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    strides = tuple(s * word.itemsize for s in tensor.stride())
    return np.ndarray(shape, word, memory, tensor.storage_offset() * word.itemsize, strides)


def place(
    name: str,
    values: torch.Tensor,
    strides: tuple[int, ...],
    offset: int,
    *,
    role: Role,
    arena: Arena,
    device: torch.device,
    poison: Poison = "nan",
    allocator: Allocator = plain,
    initialized: bool = True,
    snapshot: bool = True,
    aligned: bool = False,
) -> Placed:
    """The values in a guarded storage of their own, `offset` elements after its aligned base, with those strides.

    Where a stride is 0 the first slice along that axis is taken, for all of it. `aligned` keeps a fenced allocator from
    giving up the alignment of the base.
    """
    shape = tuple(values.shape)
    storage, first = _storage(allocator, extent(shape, strides), offset, values.dtype, device, aligned)
    size = storage.numel() * storage.element_size()
    staged = _is_staged(device, size) and not (initialized and values.device.type != "cpu")
    content = _empty(storage.shape, dtype=storage.dtype) if staged else storage
    memory = _lay_out(content, values if initialized else None, strides, first + offset, poison)
    if staged:
        storage.copy_(content, non_blocking=True)  # pageable memory: the driver has its own copy when this returns
    view = storage.as_strided(shape, strides, first + offset)
    region = arena.add(Region(name, view, role, initialized))
    kept = None if staged else memory
    if not snapshot or size > LIMIT:
        return Placed(name, view, storage, region, memory=kept)
    if not initialized:
        return Placed(name, view, storage, region, blank=poison, memory=kept)
    if memory is None:
        memory = storage.view(torch.uint8).cpu().numpy()
    return Placed(name, view, storage, region, memory.tobytes(), memory=kept)


def _lay_out(
    storage: torch.Tensor, values: torch.Tensor | None, strides: tuple[int, ...], start: int, poison: Poison
) -> Bytes | None:
    """Fill a storage with poison and with the values, each element once; returns its bytes where it lies on the CPU.

    NumPy assigns in a third of torch's time.
    """
    memory: Bytes | None = None
    word = WORDS.get(storage.dtype)
    if storage.device.type == "cpu":
        memory = (storage.view(torch.uint8) if word is None else storage).numpy().view(np.uint8)
        fill_bytes(memory, storage.dtype, poison)
    else:
        fill(storage, poison)
    if values is None or not values.numel():
        return memory
    shape = tuple(values.shape)
    once = shape if 0 not in strides else tuple(1 if s == 0 else n for n, s in zip(shape, strides, strict=True))
    if once != shape:
        values = values[tuple(slice(0, n) for n in once)]
    if memory is None or word is None or values.device.type != "cpu":
        storage.as_strided(once, strides, start).copy_(values)
    else:
        size = values.element_size()
        elements: Any = np.ndarray(once, word, memory, start * size, [s * size for s in strides])
        elements[...] = (values.detach() if values.requires_grad else values).numpy()
    return memory


def _is_staged(device: torch.device, size: int) -> bool:
    """Whether so many bytes are laid out on the host, to be copied to the device."""
    return device.type != "cpu" and size <= _STAGED


def _storage(
    allocator: Allocator, elements: int, offset: int, dtype: torch.dtype, device: torch.device, aligned: bool
) -> tuple[torch.Tensor, int]:
    """A storage for `offset + elements` elements and guard zones, and the index of the first of them."""
    guarded = getattr(allocator, "guarded", None)
    if guarded is not None:
        storage, first = guarded(elements, offset, dtype, device, aligned=aligned)
        return storage, first
    guard = GUARD // dtype.itemsize
    return allocator(2 * guard + offset + elements, dtype, device), guard


# ---------------------------------------------------------------------------------------------------------------------
# What the kernel allocates itself


@dataclasses.dataclass
class Allocations:
    """Collects the tensors that the kernel under test allocates while the block is open."""

    arena: Arena
    device: torch.device
    poison: Poison = "nan"
    allocator: Allocator = plain
    placed: list[Placed] = dataclasses.field(default_factory=list)
    copies: int = 0

    def note(self, copy: object) -> None:
        """Make a copy that torch has made known to the arena: kernels may be given its address as a number."""
        if not isinstance(copy, torch.Tensor) or copy.layout != torch.strided or not copy.numel():
            return
        if copy.device.type == self.device.type and not self.arena.find(copy):
            self.arena.add(Region(f"copy {self.copies}", copy.detach(), Role.SCRATCH, initialized=True))
            self.copies += 1

    def guard(self, fresh: torch.Tensor, *, empty: bool) -> torch.Tensor:
        """A guarded twin of a fresh tensor: same shape, strides, dtype; same values unless it is `empty`.

        A tensor without elements has nothing to guard, and is what torch code makes before it points it elsewhere.
        """
        if (
            not fresh.numel()
            or fresh.layout != torch.strided
            or fresh.device.type != self.device.type
            or fresh.is_quantized
        ):
            return fresh
        name = f"allocation {len(self.placed)}"
        big = extent(tuple(fresh.shape), fresh.stride()) * fresh.element_size() > LIMIT
        placed = place(
            name,
            fresh,
            fresh.stride(),
            0,
            role=Role.SCRATCH,
            arena=self.arena,
            device=fresh.device,
            poison=self.poison,
            allocator=lazy if big and fresh.device.type == "cpu" else self.allocator,
            initialized=not empty and not big,
            aligned=True,  # kernels may rely on how torch aligns what they allocate
        )
        self.placed.append(placed)
        return placed.tensor.requires_grad_(fresh.requires_grad) if fresh.requires_grad else placed.tensor


_state = threading.local()

_EMPTY = ("empty", "empty_like", "empty_strided", "empty_permuted")
_FILLED = ("zeros", "zeros_like", "ones", "ones_like", "full", "full_like")
_NEW_EMPTY = ("new_empty", "new_empty_strided")
_NEW_FILLED = ("new_zeros", "new_ones", "new_full")


_COPIES = ("contiguous", "clone", "to", "float", "half", "bfloat16", "double", "int", "long", "reshape", "flatten")
_JOINED = ("cat", "stack", "clone")


def _noted(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def copy(*args: Any, **kwargs: Any) -> Any:
        collector: Allocations | None = getattr(_state, "allocations", None)
        result = original(*args, **kwargs)
        if collector is not None:
            collector.note(result)
        return result

    copy.__wrapped_by_conformance__ = True  # type: ignore[attr-defined]
    return copy


def _intercepted(original: Callable[..., Any], empty: bool) -> Callable[..., Any]:
    @functools.wraps(original)
    def factory(*args: Any, **kwargs: Any) -> Any:
        collector: Allocations | None = getattr(_state, "allocations", None)
        if collector is None or kwargs.get("out") is not None:
            return original(*args, **kwargs)
        _state.allocations = None  # what guarding allocates is not the kernel's
        try:
            return collector.guard(original(*args, **kwargs), empty=empty)
        finally:
            _state.allocations = collector

    factory.__wrapped_by_conformance__ = True  # type: ignore[attr-defined]
    return factory


def _scriptable(wrapper: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """The wrapper, which TorchScript takes for the original; torch scripts its rules of `torch.func.jvp` late."""
    if (scripted := _find_builtin(original)) is not None:  # type: ignore[no-untyped-call]
        _register_builtin(wrapper, scripted)
    return wrapper


def _install() -> None:
    """Wrap torch's factories, once a process; outside `intercept` the wrappers cost one attribute look-up.

    Wrapping names is an order of magnitude cheaper than a dispatch or function mode, which pays at every attribute of
    every tensor (measured: 50 us against 1 us for a typical launcher). A kernel that bound `torch.empty` to a name of
    its own before the suite was imported is seen all the same: the storage is unknown to the arena, and observers take
    the whole of it for scratch.
    """
    if hasattr(torch.empty, "__wrapped_by_conformance__"):
        return
    for owner, names, empty in (
        (torch, _EMPTY, True),
        (torch, _FILLED, False),
        (torch.Tensor, _NEW_EMPTY, True),
        (torch.Tensor, _NEW_FILLED, False),
    ):
        for name in names:
            original = getattr(owner, name)
            if not hasattr(original, "__wrapped_by_conformance__"):
                setattr(owner, name, _scriptable(_intercepted(original, empty), original))
    for owner, copying in ((torch.Tensor, _COPIES), (torch, _JOINED)):
        for name in copying:
            original = getattr(owner, name)
            if not hasattr(original, "__wrapped_by_conformance__"):
                setattr(owner, name, _scriptable(_noted(original), original))


@contextlib.contextmanager
def intercept(allocations: Allocations) -> Iterator[Allocations]:
    """Let `allocations` guard what torch allocates in this thread inside the block."""
    _install()
    before = getattr(_state, "allocations", None)
    _state.allocations = allocations
    try:
        yield allocations
    finally:
        _state.allocations = before
