"""The abstract machine that runs the threads of a block: one library a process, which every kernel's library needs."""

from __future__ import annotations

import ctypes
import functools

from conformance.emulator import toolchain
from conformance.emulator.abi import Launch, ModuleStruct, Report


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library, built where it is missing.

    Raises:
        MemoryError: there is no address space for stacks and shadow memory.
        ToolchainError: there is no compiler.
    """
    loaded = ctypes.CDLL(str(toolchain.runtime_library()))
    loaded.emu_dynamic_shared.restype = ctypes.c_void_p
    loaded.emu_find_module.argtypes = (ctypes.c_void_p, ctypes.POINTER(ModuleStruct))
    loaded.emu_run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Launch), ctypes.POINTER(Report))
    loaded.emu_run.restype = None
    if not loaded.emu_reserve():
        raise MemoryError("the CUDA emulator could not reserve address space for stacks and shadow memory (ulimit -v)")
    return loaded


@functools.cache
def dynamic_shared() -> int:
    """The address of the dynamic shared memory of a block."""
    return int(library().emu_dynamic_shared())


def module_of(address: int) -> ModuleStruct:
    """Where the loaded library lies that holds `address`."""
    found = ModuleStruct()
    library().emu_find_module(address, found)
    return found
