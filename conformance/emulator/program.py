"""A CUDA text: its kernels, each compiled when it is first asked for."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from conformance.emulator import toolchain
from conformance.emulator.library import Library
from conformance.emulator.origin import UNKNOWN
from conformance.emulator.signature import Signature
from conformance.emulator.source import included, kernels, rewritten, unrolled

# What NVRTC takes and the host compiler does not, or what would change the host's arithmetic.
_NVRTC_ONLY = re.compile(
    r"^(--?gpu-architecture|-arch|--?std|-std|--?use_fast_math|-fmad|--fmad|-default-device|--device|-lineinfo|-G$|--maxrregcount|-w$|--ptxas)"
)


class Program:
    """One CUDA text, to be compiled with checks or without; `path` is its name for the author.

    `overflow` checks signed arithmetic as well, which takes up to half as long again.
    Raises:
        CompileError: the text has no kernel that can be called by name.
    """

    def __init__(
        self,
        text: str,
        *,
        checked: bool,
        overflow: bool = False,
        options: Sequence[str] = (),
        path: str | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self.checked, self.overflow = checked, overflow
        found = {k.name: k for k in kernels(text)}
        exported = [k.name for k in found.values() if k.callable_by_name]
        self.exports = {name: found[name].parameters if name in found else () for name in [*exported, *names]}
        if not self.exports:
            raise toolchain.CompileError(
                'the text has no kernel that can be called by name: declare one `extern "C" __global__ void`, or give '
                "an instance of a template as a name expression"
            )
        named = re.match(r'\s*#\s*line\s+\d+\s+"([^"]+)"', text)
        self.path = path or (named[1] if named else UNKNOWN)
        self._text = text
        self._options = tuple(o for o in options if not _NVRTC_ONLY.match(o))
        self._libraries: dict[tuple[str, ...], Library] = {}
        self._refused: dict[tuple[str, ...], str] = {}  # each call of a kernel asks again

    def library(self, name: str) -> Library:
        """The library of a kernel: of this one alone, or of the whole text where variables outlive a launch.

        Raises:
            CompileError: the text does not compile.
            KeyError: the program has no kernel of that name.
            ToolchainError: there is no compiler.
        """
        if name not in self.exports:
            raise KeyError(
                f"{self.path} has no kernel {name!r} that can be called by name; it has {', '.join(self.exports)}"
            )
        alone = self._library((name,))
        return self._library(tuple(self.exports)) if alone.stateful else alone

    def variable(self, name: str) -> tuple[int, int]:
        """The address and the bytes of a variable that outlives a launch.

        Raises:
            KeyError: the text has no such variable.
        """
        whole = self._library(tuple(self.exports))
        found = {v.name: v for v in whole.variables if not v.shared and not v.guard}
        if name not in found:
            raise KeyError(f"{self.path} has no variable {name!r}; it has {', '.join(sorted(found)) or 'none'}")
        return whole.module.low + found[name].offset, found[name].size

    def signature(self, name: str) -> Signature:
        """The signature of a kernel, as the compiler sees it; raises as `library` does."""
        return self.library(name).signature(name)

    def _library(self, names: tuple[str, ...]) -> Library:
        if names in self._refused:
            raise toolchain.NotModelled(self._refused[names])
        if names not in self._libraries:
            folders = tuple(o[2:] for o in self._options if o.startswith("-I"))
            try:
                self._libraries[names] = Library(
                    unrolled(rewritten(self._text)) if self.checked else rewritten(self._text),
                    {name: self.exports[name] for name in names},
                    text=self._text,
                    path=self.path,
                    checked=self.checked,
                    overflow=self.overflow,
                    options=self._options,
                    beside=included(self._text, folders),
                )
            except toolchain.NotModelled as error:
                self._refused[names] = str(error)
                raise
        return self._libraries[names]


@functools.cache
def load(
    text: str,
    *,
    checked: bool,
    overflow: bool = False,
    options: tuple[str, ...] = (),
    path: str | None = None,
    names: tuple[str, ...] = (),
) -> Program:
    """The program of a text, the same one in this process."""
    return Program(text, checked=checked, overflow=overflow, options=options, path=path, names=names)
