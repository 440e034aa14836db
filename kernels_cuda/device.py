"""The backend for CUDA devices: CuPy compiles with NVRTC and launches on torch's current device and stream."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import pathlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import cupy
import numpy as np
import torch

from kernels_cuda import tensor_map
from kernels_cuda.signatures import Signature

# Dynamic shared memory beyond this needs the kernel's consent (cudaFuncAttributeMaxDynamicSharedMemorySize).
DEFAULT_SHARED_BYTES = 48 * 1024


def _include_candidates() -> Iterator[pathlib.Path]:
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            yield pathlib.Path(os.environ[variable]) / "include"
    nvidia = importlib.util.find_spec("nvidia")
    for root in (nvidia.submodule_search_locations or []) if nvidia else []:
        yield from sorted(pathlib.Path(root).glob("cu*/include"), reverse=True)
        yield pathlib.Path(root) / "cuda_runtime" / "include"
    triton = importlib.util.find_spec("triton")
    for root in (triton.submodule_search_locations or []) if triton else []:
        yield pathlib.Path(root) / "backends" / "nvidia" / "include"


@functools.cache
def include_paths() -> tuple[str, ...]:
    """Folders with the CUDA headers: the first that holds `mma.h` and the `crt/mma.h` that it needs, and its `cccl`.

    Searched are $CUDA_PATH, $CUDA_HOME, NVIDIA's wheels (`nvidia-cuda-runtime` with `nvidia-cuda-crt`) and the headers
    that come with Triton; CuPy's own lack `crt/mma.h`. Empty where none is complete.
    """
    for folder in _include_candidates():
        if (folder / "mma.h").exists() and (folder / "crt" / "mma.h").exists():
            # since CUDA 13 the C++ headers, which cooperative_groups.h includes, have a folder of their own
            return tuple(str(path) for path in (folder, folder / "cccl") if path.is_dir())
    return ()


def architecture(capability: str) -> str:
    """The architecture to compile for on a device of a compute capability, with what it alone has where kernels use it.

    >>> architecture("90"), architecture("80")
    ('sm_90a', 'sm_80')
    """
    return f"sm_{capability}a" if capability == "90" else f"sm_{capability}"


def _cubin(source: str, options: tuple[str, ...]) -> pathlib.Path:
    """The file of the machine code for the current device, compiled once and kept in CuPy's cache folder.

    `RawModule(code=...)` is no way to it: CuPy adds -ftz=true to whatever options it is given, and kernels so compiled
    take subnormal numbers for 0 (found by the suite on an H200; cupy/cuda/compiler.py, `_compile_with_cache_cuda`). Nor
    is `compile_using_nvrtc`, which takes no architecture with a letter.
    """
    includes = tuple(f"-I{path}" for path in include_paths())
    target = architecture(cupy.cuda.Device().compute_capability)
    settings = (*options, *includes, "-ftz=false", f"-arch={target}")
    key = repr((source, settings, cupy.cuda.nvrtc.getVersion()))
    folder = pathlib.Path(os.environ.get("CUPY_CACHE_DIR", "~/.cupy/kernel_cache")).expanduser()
    path = folder / f"kernels_cuda_{hashlib.sha256(key.encode()).hexdigest()}.cubin"
    if not path.exists():
        code = _compile(source, settings)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".cubin", delete=False) as file:
            file.write(code)
        os.replace(file.name, path)  # another worker may have been first: both wrote the same
    return path


def _compile(source: str, settings: tuple[str, ...]) -> bytes:
    nvrtc = cupy.cuda.nvrtc
    program = nvrtc.createProgram(source, "kernels_cuda.cu", (), ())
    try:
        nvrtc.compileProgram(program, settings)
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError as error:
        raise RuntimeError(f"NVRTC refuses the source: {nvrtc.getProgramLog(program)}") from error
    finally:
        nvrtc.destroyProgram(program)


class CupyBackend:
    """Compiles once for each architecture, and launches on torch's current stream of the tensors' device."""

    def __init__(self) -> None:
        self._modules: dict[tuple[tuple[str, tuple[str, ...]], int], Any] = {}
        self._kernels: dict[tuple[int, int, str], Any] = {}

    def compile(self, source: str, *, options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The source and its options: they are compiled at the first launch on each device, for its architecture."""
        return source, options

    def tensor_map(self, tensor: torch.Tensor, rows: int, columns: int) -> bytes:
        """The driver's tensor map."""
        return tensor_map.encode(tensor, rows, columns)

    def launch(
        self,
        handle: Any,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[torch.Tensor | np.generic],
        shared: int,
        signature: Signature,
    ) -> None:
        """Run kernel `name`. Raises ValueError, naming the parameter, for a tensor that is not on a CUDA device."""
        device = torch.device("cuda", torch.cuda.current_device())
        for parameter, value in zip(signature, args, strict=True):
            if isinstance(value, torch.Tensor):
                if not value.is_cuda:
                    raise ValueError(
                        f"parameter {parameter.name} of {name} lies on {value.device}, not on a CUDA device"
                    )
                device = value.device
        with torch.cuda.device(device), cupy.cuda.Device(device.index):
            kernel = self._kernel(handle, name, device.index, shared)
            with cupy.cuda.Stream.from_external(_TorchStream()):
                kernel(grid, block, tuple(map(_raw, args)), shared_mem=shared)

    def _kernel(self, handle: tuple[str, tuple[str, ...]], name: str, device: int, shared: int) -> Any:
        key = (id(handle), device, name)
        kernel = self._kernels.get(key)
        if kernel is None:
            module = self._modules.get((handle, device))
            if module is None:
                module = self._modules[handle, device] = cupy.RawModule(path=str(_cubin(*handle)))
            kernel = self._kernels[key] = module.get_function(name)
        if shared > DEFAULT_SHARED_BYTES and kernel.max_dynamic_shared_size_bytes < shared:
            kernel.max_dynamic_shared_size_bytes = shared
        return kernel


class _TorchStream:
    """torch's current stream, by the protocol through which CuPy takes foreign streams."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol's version, and the stream's handle."""
        return 0, torch.cuda.current_stream().cuda_stream


def _raw(value: torch.Tensor | np.generic) -> object:
    if isinstance(value, torch.Tensor):
        return np.uint64(value.data_ptr())
    # CuPy passes an array of one element by value, which is how a struct goes
    return np.asarray(value) if isinstance(value, np.void) else value
