"""Launches the kernels of a `.cu` source: on a CUDA device through CuPy, or by the backend that was set."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch

from kernels_cuda.signatures import Signature, parse

# CUDA C++ programming guide, technical specifications of every compute capability since 3.0
GRID_LIMITS = (2**31 - 1, 65535, 65535)
BLOCK_LIMIT = 1024

OPTIONS = ("-std=c++17",)

Extent = int | tuple[int, ...]
Argument = torch.Tensor | np.generic


class Backend(Protocol):
    """Compiles and runs sources. Arguments of `launch` are typed exactly as the signature says."""

    def compile(self, source: str, *, options: tuple[str, ...]) -> Any:
        """A handle of the compiled source text, which needs no other file of this package."""

    def tensor_map(self, tensor: torch.Tensor, rows: int, columns: int) -> bytes:
        """What `TensorMap` of ptx.cuh holds here, for a matrix that is copied in boxes of `rows` by `columns`."""

    def launch(
        self,
        handle: Any,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[Argument],
        shared: int,
        signature: Signature,
    ) -> None:
        """Run kernel `name` of the handle, with `shared` bytes of dynamic shared memory a block."""


_backend: list[Backend] = []


def set_backend(backend: Backend | None) -> Backend | None:
    """The backend that was set before; from now on `backend` compiles and launches, None: CuPy on a CUDA device."""
    before = _backend[0] if _backend else None
    _backend[:] = [] if backend is None else [backend]
    return before


def current_backend() -> Backend:
    """The backend of the next launch. Raises RuntimeError where there is neither a CUDA device nor a backend."""
    if _backend:
        return _backend[0]
    if not torch.cuda.is_available():
        raise RuntimeError(
            "CUDA kernels need a CUDA device, and torch sees none: run on a machine with one, or run the sources on "
            "the CPU by passing a backend to kernels_cuda.launcher.set_backend"
        )
    return _cupy_backend()


def tensor_map(tensor: torch.Tensor, rows: int, columns: int) -> bytes:
    """The argument for a `TensorMap` (ptx.cuh): the matrix `tensor`, copied in boxes of `rows` by `columns` elements.

    Raises RuntimeError where nothing can run a kernel, or the matrix does not suit the copy engine.
    """
    return current_backend().tensor_map(tensor, rows, columns)


@functools.cache
def _cupy_backend() -> Backend:
    from kernels_cuda.device import CupyBackend  # imports cupy, which a machine without a GPU need not have

    return CupyBackend()


@dataclasses.dataclass(eq=False)
class Module:
    """The kernels of one source text. `signatures` maps their names to their parameters."""

    path: pathlib.Path
    source: str
    signatures: dict[str, Signature]
    handles: dict[int, tuple[Backend, Any]] = dataclasses.field(default_factory=dict)

    def launch(self, name: str, grid: Extent, block: Extent, args: Sequence[object], shared: int = 0) -> None:
        """Run kernel `name` on the current stream with `shared` bytes of dynamic shared memory a block.

        `args` are tensors for pointers, numbers for numbers, and mappings or bytes for structs, in the order of the C++
        parameters; each is packed to exactly the type of its parameter. Raises KeyError for an unknown kernel,
        TypeError for an argument that does not fit its parameter, ValueError for a grid or block beyond CUDA's limits
        or tensors on several devices, RuntimeError where nothing can run it.
        """
        if name not in self.signatures:
            raise KeyError(f"{self.path.name} has no kernel {name}; it has {', '.join(sorted(self.signatures))}")
        signature = self.signatures[name]
        if len(args) != len(signature):
            names = ", ".join(parameter.name for parameter in signature)
            raise TypeError(f"{name} takes {len(signature)} arguments ({names}), got {len(args)}")
        packed = [parameter.pack(value) for parameter, value in zip(signature, args, strict=True)]
        devices = {value.device for value in packed if isinstance(value, torch.Tensor)}
        if len(devices) > 1:
            raise ValueError(f"{name}: the tensors lie on several devices: {', '.join(sorted(map(str, devices)))}")
        grid3, block3 = _extent("grid", name, grid, GRID_LIMITS), _extent("block", name, block, (1024, 1024, 64))
        if block3[0] * block3[1] * block3[2] > BLOCK_LIMIT:
            raise ValueError(f"{name}: block {block3} has more than {BLOCK_LIMIT} threads")
        backend = current_backend()
        backend.launch(self._handle(backend), name, grid3, block3, packed, shared, signature)

    def _handle(self, backend: Backend) -> Any:
        # the backend is kept beside its handle, so that its id stays its own
        known = self.handles.get(id(backend))
        if known is None:
            known = self.handles[id(backend)] = (backend, backend.compile(self.source, options=OPTIONS))
        return known[1]


def load(source_path: str | pathlib.Path) -> Module:
    """The module of a `.cu` file, the same one for the same file and content.

    Headers included by `#include "name.cuh"` are put in place of the line, so the text stands alone; `#line` keeps
    file names and line numbers. Raises OSError where a file cannot be read, ValueError where it has no kernel.
    """
    # launchers load at every launch: files that nobody has touched are not read again (0.4 ms for a launch of 0.3 ms)
    where = os.fspath(source_path)
    if not os.path.isabs(where):
        where = os.path.abspath(where)
    known = _loaded.get(where)
    if known is None or any(_stamp(file) != stamp for file, stamp in known[0]):
        path = pathlib.Path(where).resolve()
        files: dict[pathlib.Path, Stamp] = {}
        source = _inline(path, files)
        known = _loaded[where] = (tuple((str(file), stamp) for file, stamp in files.items()), _module(path, source))
    return known[1]


Stamp = tuple[int, int]
_loaded: dict[str, tuple[tuple[tuple[str, Stamp], ...], Module]] = {}


def _stamp(file: str | pathlib.Path) -> Stamp:
    """What changes when a file is written: the time of it, and its length."""
    status = os.stat(file)
    return status.st_mtime_ns, status.st_size


@functools.cache
def _module(path: pathlib.Path, source: str) -> Module:
    signatures = parse(source)
    if not signatures:
        raise ValueError(f'{path} has no kernel: none is declared extern "C" __global__ void')
    return Module(path, source, signatures)


_INCLUDE = re.compile(r'#include\s+"([\w./]+)"\s*')


def _inline(path: pathlib.Path, seen: dict[pathlib.Path, Stamp]) -> str:
    """The text with its headers; `seen` gets each file that was read."""
    seen[path] = _stamp(path)  # before reading: a write in between is noticed at the next load
    lines = [f'#line 1 "{path.name}"']
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _INCLUDE.fullmatch(line)
        if match is None:
            lines.append("" if line.strip() == "#pragma once" else line)
            continue
        header = (path.parent / match[1]).resolve()
        if header not in seen:
            lines += [_inline(header, seen), f'#line {number + 1} "{path.name}"']
    return "\n".join(lines)


def _extent(what: str, name: str, value: Extent, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    sizes = (value,) if isinstance(value, int) else tuple(value)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{name}: {what} {value} must have one to three sizes")
    x, y, z = (*sizes, 1, 1)[:3]
    for size, limit in zip((x, y, z), limits, strict=True):
        if not 1 <= size <= limit:
            raise ValueError(f"{name}: {what} {value} is outside CUDA's limits, 1 to {limits}")
    return x, y, z
