"""One launch of a CUDA kernel on CPU tensors: CUDA's own limits first, then the run, then what it did wrong."""

from __future__ import annotations

import ctypes
import math
import signal
import threading
from collections.abc import Sequence
from typing import Any

import torch

from conformance.emulator.abi import MAX_SPACES, ORDERS, Launch, Report, SpaceStruct
from conformance.emulator.findings import Memory, events
from conformance.emulator.library import DYNAMIC, Library, Variable
from conformance.emulator.shadow import Storage, storages, unknown
from conformance.events import Event, Kind
from conformance.observation import LARGEST_GRID, Geometry, Observation
from conformance.regions import Arena

# CUDA programming guide, technical specifications per compute capability (the same from 8.0 to 12.0)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_SHARED = 227 * 1024  # with the opt-in attribute, sm_90
DEFAULT_SHARED = 48 * 1024  # without it
FAR = 2**31 - 1  # INT32_LARGEST of runtime/overflow.cpp
# Of CPU time, less than a whole call has: a launch that takes longer hangs. The slowest clean one of the corpus
# takes 0.1 s.
SECONDS = 20.0

_report = Report()  # 20 KB, whose zeros would cost more than a small launch
_lock = threading.RLock()  # stacks and shadow memory are shared by all programs of the process


class KernelError(RuntimeError):
    """A launch that nothing observes crashed, hung, met a failed assertion or could not go on."""


class LaunchError(ValueError):
    """The launch configuration is one that CUDA refuses."""


def check_configuration(
    kernel: str, grid: Sequence[int], block: Sequence[int], shared: int, *, shared_limit: int = MAX_SHARED
) -> None:
    """Refuse what CUDA refuses.

    Raises:
        LaunchError: names the dimension and the limit.
    """
    for word, sizes, limits in (("grid", grid, LARGEST_GRID), ("block", block, MAX_BLOCK)):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if not 1 <= size <= limit:
                raise LaunchError(
                    f"{kernel}: invalid configuration: {word} {tuple(sizes)}: {axis} = {size} is outside 1..{limit}"
                )
    if math.prod(block) > MAX_THREADS:
        raise LaunchError(
            f"{kernel}: invalid configuration: block {tuple(block)} has {math.prod(block)} threads,"
            f" {MAX_THREADS} are allowed"
        )
    if not 0 <= shared <= shared_limit:
        raise LaunchError(
            f"{kernel}: invalid argument: {shared} bytes of dynamic shared memory, {shared_limit} are allowed"
            + (" without cudaFuncAttributeMaxDynamicSharedMemorySize" if shared_limit == DEFAULT_SHARED else "")
        )


def launch(
    library: Library,
    name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Sequence[Any],
    *,
    shared: int = 0,
    observation: Observation | None = None,
    isolated: bool = False,
    seconds: float = SECONDS,
    values: Sequence[Any] | None = None,
) -> list[Event]:
    """What the launch did wrong, which `observation` has then too; an unchecked program can only crash, hang or stick.

    `values` are the arguments as ctypes values, where the caller has packed them. `isolated` runs the launch
    in a child process, whose results are taken over when it ends well.

    Raises:
        ArgumentError: an argument does not fit the kernel's signature.
        KeyError: the program has no such kernel.
        KernelError: something went wrong, and there is no observation to tell.
        KeyboardInterrupt: SIGINT or SIGTERM, where it is handled, ended the launch.
    """
    if values is None:
        values = library.signature(name).pack(args)
    with _lock:
        memory: list[Memory] = []
        if library.checked:
            memory, table = _memory(library, name, args, shared, observation), library.table
            count = len(memory)
        else:
            spaces = _storages(args, observation) if isolated else []
            count, table = len(spaces), (SpaceStruct * max(1, len(spaces)))(*spaces)
        settings = Launch()
        settings.grid[:], settings.block[:] = grid, block
        settings.dynamic_bytes = shared
        settings.order = ORDERS[observation.order] if observation else 0
        settings.seed = observation.seed + 1 if observation else 1
        settings.checked, settings.isolated = library.checked, isolated
        settings.spaces, settings.space = count, ctypes.pointer(table[0])
        settings.seconds = seconds
        report = _report
        library.run(name, values, settings, report)
        if report.interrupted:
            raise KeyboardInterrupt
        found = events(report, library, name, memory, grid) if report.findings else []
        if report.failed:
            found.append(Event(Kind.CRASH, name, _death(report.failed), kernel=name))
        if report.stopped:
            for space in memory:
                if isinstance(space, Storage):
                    space.shadow.stopped = True
    if observation is not None:
        observation.events.extend(found)
        observation.float_atomics |= bool(report.float_atomics)
    elif found and not library.checked:
        raise KernelError("; ".join(map(str, found)))
    return found


def _death(signal_number: int) -> str:
    if signal_number in set(signal.Signals):
        return f"the launch ended its process by {signal.Signals(signal_number).name}"
    return "the launch's process could not be started or ended without a result"


def _storages(args: Sequence[Any], observation: Observation | None) -> list[SpaceStruct]:
    """The whole storages that an isolated launch may have changed."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    tensors += [r.tensor for r in observation.arena] if observation else []
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return [SpaceStruct(base=at, bytes=size) for at, size in storages.items() if size]


def reaches_far(arena: Arena) -> bool:
    """Whether some tensor is long enough for an offset that 32 bits do not hold."""
    return any(regions[0].tensor.untyped_storage().nbytes() > FAR for regions in arena.storages())


def record(observation: Observation, name: str, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    """Note the launch's geometry, and an event where a dimension of the grid exceeds CUDA's limit."""
    observation.geometry.append(Geometry(name, grid, block))
    for axis, size, limit in zip("xyz", grid, LARGEST_GRID, strict=True):
        if size > limit:
            detail = f"grid {grid}: {axis} = {size}, CUDA allows {limit}"
            observation.events.append(Event(Kind.GRID_LIMIT, name, detail, kernel=name))


def _memory(
    library: Library, name: str, args: Sequence[Any], shared: int, observation: Observation | None
) -> list[Memory]:
    """What the kernel may touch, in the order of the program's table, which is filled."""
    known = storages(observation.arena) if observation else []
    for parameter, value in zip(library.signature(name).parameters, args, strict=True):
        if isinstance(value, torch.Tensor):
            # by address: a tensor that went through DLPack has a storage of its own
            address = value.data_ptr()
            for storage in known:
                if storage.shadow.holds(address):
                    break
            else:
                known.append(unknown(value, parameter.name))
    memory: list[Memory] = [*library.variables, *known]
    if len(memory) >= MAX_SPACES:
        raise LaunchError(
            f"{name}: {len(memory)} tensors and shared arrays are in reach; the emulator checks fewer than {MAX_SPACES}"
        )
    for i, storage in enumerate(known, start=len(library.variables)):
        library.table[i] = storage.shadow.space
    if shared or library.dynamic:
        library.table[len(memory)] = library.dynamic_space(shared)
        memory.append(Variable(DYNAMIC, 0, shared, shared=True))
    return memory
