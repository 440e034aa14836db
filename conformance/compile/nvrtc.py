"""CUDA source text through NVRTC to machine code, with no GPU: the gate that the emulator cannot replace.

The host compiler of the emulator takes text that NVRTC refuses (a standard header, a host function), and knows nothing
of registers. Needs `cuda-core` and the wheels of NVRTC and of CUDA's headers (the extra `compile`); cooperative groups
need `nvidia-cuda-cccl` too. The wheel of Triton has `ptxas` and headers but no NVRTC: it cannot take their place.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import io
import pathlib
import re
from collections.abc import Sequence
from typing import Any

from conformance.emulator.toolchain import CompileError

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
INSTALL = "pip install cuda-core cuda-bindings nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt"
NEEDED = {
    "cuda.core": "cuda-core",
    "cuda.bindings": "cuda-bindings",
}

# ptxas -v, as NVRTC's log has it
_FUNCTION = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


class CompilerMissingError(RuntimeError):
    """NVRTC or CUDA's headers are not installed; the message says which package is missing."""


@dataclasses.dataclass(frozen=True)
class Resources:
    """What one kernel uses on one architecture: registers a thread, bytes of stack and spills, static shared bytes."""

    kernel: str
    registers: int
    stack: int
    spilled: int
    shared: int


@dataclasses.dataclass(frozen=True)
class Compiled:
    """One text compiled for one architecture."""

    architecture: str
    cubin: bytes
    resources: tuple[Resources, ...]
    log: str


def missing() -> list[str]:
    """The packages that compilation lacks here, empty where all are there."""
    found = [package for module, package in NEEDED.items() if not _importable(module)]
    names = {path.name for folder in _include_folders() for path in folder.iterdir()}
    if "cuda_fp16.h" not in names:
        found.append("nvidia-cuda-runtime")
    if "crt" not in names:
        found.append("nvidia-cuda-crt")
    if not _nvrtc_libraries():
        found.append("nvidia-cuda-nvrtc")
    return found


def compile_cuda(source: str, architecture: str = "sm_90", *, options: Sequence[str] = ()) -> Compiled:
    """The text as machine code of one architecture (`sm_80`), with the resources of each kernel.

    `options` are include folders (`-I...`) and definitions (`-D...`); others are for the driver and are ignored.

    Raises:
        CompileError: NVRTC refuses the text; the message is its log.
        CompilerMissingError: a package is not installed.
    """
    if absent := missing():
        raise CompilerMissingError(f"NVRTC is not available: {', '.join(absent)} not installed. Install: {INSTALL}")
    core: Any = importlib.import_module("cuda.core")
    api = core if hasattr(core, "Program") else importlib.import_module("cuda.core.experimental")
    log = io.StringIO()
    settings = api.ProgramOptions(
        arch=architecture,
        std="c++17",
        include_path=[*map(str, _include_folders()), *(o[2:] for o in options if o.startswith("-I"))],
        define_macro=[o[2:] for o in options if o.startswith("-D")] or None,
        ptxas_options=["-v"],
    )
    try:
        built = api.Program(source, "c++", settings).compile("cubin", logs=log)
    except Exception as error:
        if not _is_compile_failure(error):
            raise
        raise CompileError(f"{architecture}: {error}\n{log.getvalue()}") from error
    return Compiled(architecture, bytes(built.code), tuple(resources(log.getvalue())), log.getvalue())


def resources(log: str) -> list[Resources]:
    """The resources that `ptxas -v` reports, a kernel at a time.

    >>> resources('''Compiling entry function 'add' for 'sm_90'
    ...     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
    ... Used 10 registers, used 1 barriers, 512 bytes smem''')
    [Resources(kernel='add', registers=10, stack=8, spilled=8, shared=512)]
    """
    found = []
    parts = _FUNCTION.split(log)[1:]
    for kernel, _, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        spills, registers, shared = _SPILLS.search(text), _REGISTERS.search(text), _SHARED.search(text)
        stack, stores, loads = map(int, spills.groups()) if spills else (0, 0, 0)
        used = int(registers[1]) if registers else 0
        found.append(Resources(kernel, used, stack, stores + loads, int(shared[1]) if shared else 0))
    return found


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def _is_compile_failure(error: Exception) -> bool:
    return type(error).__name__ in ("NVRTCError", "nvrtcError") or "NVRTC_ERROR_COMPILATION" in str(error)


def _nvidia_roots() -> list[pathlib.Path]:
    spec = importlib.util.find_spec("nvidia")
    return [pathlib.Path(p) for p in spec.submodule_search_locations or ()] if spec else []


def _include_folders() -> list[pathlib.Path]:
    """The folders of CUDA's headers in the nvidia wheels, one folder a CUDA version."""
    return sorted(p for root in _nvidia_roots() for p in root.glob("cu*/include") if p.is_dir())


def _nvrtc_libraries() -> list[pathlib.Path]:
    return [p for root in _nvidia_roots() for p in root.glob("c*/lib*/libnvrtc.so*")]
