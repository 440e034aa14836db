"""The emulator as a backend of `kernels_cuda.launcher`."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from typing import Any, Literal

import torch

from conformance import observation
from conformance.emulator.launch import SECONDS, check_configuration, launch, reaches_far, record
from conformance.emulator.program import Program, load
from conformance.emulator.signature import Signature


@dataclasses.dataclass(frozen=True)
class Handle:
    """A text, each kernel of which is compiled when a launch first asks for it, with checks or without."""

    text: str
    options: tuple[str, ...]
    path: str | None
    names: tuple[str, ...] = ()

    def program(self, *, checked: bool, overflow: bool = False) -> Program:
        """The text compiled with checks, of signed arithmetic too where `overflow` says so, or without."""
        return load(
            self.text,
            checked=checked,
            overflow=overflow,
            options=self.options,
            path=self.path,
            names=self.names,
        )

    def signature(self, name: str) -> Signature:
        """The signature of a kernel of the text, which is compiled for it."""
        return self.program(checked=True).signature(name)


class Backend:
    """Runs CUDA source text on CPU tensors: with every check inside an open observation, at full speed outside.

    A launch at full speed runs in a child process, which it may crash, unless `isolation` is "untrusted" and a checked
    launch of the same kernel found nothing, or `isolation` is "never".
    """

    def __init__(
        self, isolation: Literal["always", "untrusted", "never"] = "untrusted", seconds: float = SECONDS
    ) -> None:
        self.isolation = isolation
        self.seconds = seconds
        self._trusted: set[tuple[Handle, str]] = set()

    def compile(
        self, source: str, *, options: Sequence[str] = (), path: str | None = None, names: Sequence[str] = ()
    ) -> Handle:
        """The text, each kernel of which is compiled when it is first launched.

        `path` is its name in reports, `names` template instances to make callable.

        Raises:
            CompileError: the text has no kernel that can be called by name.
        """
        handle = Handle(source, tuple(options), path, tuple(names))
        handle.program(checked=True)
        return handle

    def tensor_map(self, tensor: torch.Tensor, rows: int, columns: int) -> bytes:
        """`struct emu_tensor_map` of runtime/abi.h: a matrix whose contiguous rows are copied in boxes."""
        (height, width), pitch, size = tensor.shape, tensor.stride(0) * tensor.element_size(), tensor.element_size()
        return struct.pack("<16Q", tensor.data_ptr(), height, width, pitch, size, rows, columns, *[0] * 9)

    def launch(
        self,
        handle: Handle,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Any],
        shared: int = 0,
        signature: object = None,
        *,
        values: Sequence[Any] | None = None,
    ) -> None:
        """Launch a kernel; `values` are packed arguments. The compiler's own signature is checked, not `signature`.

        Raises:
            LaunchError: CUDA would refuse the configuration.
            ArgumentError: an argument does not fit the kernel's signature.
            CompileError: the text does not compile; the message is the compiler's.
            KeyError: the text has no such kernel.
            ToolchainError: there is no compiler, or no binutils.
        """
        grid3, block3 = three(grid), three(block)
        seen = observation.current()
        if seen is not None:
            record(seen, name, grid3, block3)
        check_configuration(name, grid3, block3, shared)
        if seen is not None and seen.dry:
            if values is None:
                handle.signature(name).pack(args)
            return
        checked = seen is not None and seen.trace
        library = handle.program(checked=checked).library(name)
        # what outlives a launch is in one library alone
        if seen is not None and checked and seen.overflow and reaches_far(seen.arena) and not library.stateful:
            library = handle.program(checked=True, overflow=True).library(name)
        trusted = self.isolation == "never" or (self.isolation == "untrusted" and (handle, name) in self._trusted)
        found = launch(
            library,
            name,
            grid3,
            block3,
            args,
            shared=shared,
            observation=seen,
            isolated=not checked and not trusted,
            seconds=self.seconds,
            values=values,
        )
        if checked and not found:
            self._trusted.add((handle, name))
        elif found:
            self._trusted.discard((handle, name))


def three(sizes: Sequence[int] | int) -> tuple[int, int, int]:
    """The three dimensions of a grid or block given as one number or up to three."""
    given = (sizes,) if isinstance(sizes, int) else tuple(map(int, sizes))
    if not 1 <= len(given) <= 3:
        raise ValueError(f"a grid or block has one to three dimensions, got {given}")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z
