"""A CUDA text as a shared library of the host: its kernels, its shared arrays and its source lines."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import pathlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.emulator import toolchain
from conformance.emulator.abi import (
    DYNAMIC_BYTES,
    ELEMENT,
    IGNORED,
    INIT,
    MAX_SPACES,
    RED_ZONE,
    SHARED,
    TRACKED,
    WRITABLE,
    Launch,
    Report,
    SpaceStruct,
)
from conformance.emulator.signature import Signature, describe
from conformance.emulator.source import Kernel, included, kernels, rewritten
from conformance.events import Site

# What NVRTC takes and the host compiler does not, or what would change the host's arithmetic.
_NVRTC_ONLY = re.compile(
    r"^(--?gpu-architecture|-arch|--?std|-std|--?use_fast_math|-fmad|--fmad|-default-device|--device|-lineinfo|-G$|--maxrregcount|-w$|--ptxas)"
)


# What line tables call the folder of the runtime and its headers.
_RUNTIME_NAME = "cuda-emulator-runtime"


@dataclasses.dataclass(frozen=True)
class Variable:
    """A `__shared__` array, or a `__device__` or `__constant__` variable, of a program."""

    name: str
    offset: int  # from the library's base
    size: int
    shared: bool
    guard: bool = False  # of the initialisation of a function static: the compiler's own


class Program:
    """One CUDA text, compiled with checks or without; `path` is its name for the author.

    Raises:
        CompileError: the text does not compile.
        ToolchainError: there is no compiler.
    """

    def __init__(
        self,
        text: str,
        *,
        checked: bool,
        options: Sequence[str] = (),
        path: str | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self.text = text
        self.checked = checked
        self.kernels = {k.name: k for k in kernels(text)}
        exported = [k.name for k in self.kernels.values() if k.callable_by_name]
        self.exports = {name: f"{i}" for i, name in enumerate([*exported, *names])}
        if not self.exports:
            raise toolchain.CompileError(
                'the text has no kernel that can be called by name: declare one `extern "C" __global__ void`'
            )
        named = re.match(r'\s*#\s*line\s+\d+\s+"([^"]+)"', text)
        self.path = path or (named[1] if named else f"{next(iter(self.exports))}.cu")
        self._flags = [o for o in options if not _NVRTC_ONLY.match(o)]
        self.library_path = self._build()
        self._library = ctypes.CDLL(str(self.library_path))
        symbols = json.loads(self._symbols().read_text())
        anchor = ctypes.cast(self._library.emu_pool, ctypes.c_void_p).value
        self.base = int(anchor or 0) - symbols["anchor"]
        self.variables = tuple(Variable(*v) for v in symbols["variables"])
        full = ELEMENT | INIT | WRITABLE
        self._states = [np.full(v.size + 16, full, dtype=np.uint8) for v in self.variables]
        self._dynamic_state = np.full(DYNAMIC_BYTES + 16, full, dtype=np.uint8)
        self._signatures: dict[str, Signature] = {}

    def signature(self, name: str) -> Signature:
        """The signature of a kernel, as the compiler sees it.

        Raises:
            KeyError: the program has no kernel of that name.
        """
        if name not in self._signatures:
            number = self._number(name)
            letters = self._function(f"emu_describe_{number}", ctypes.c_char_p)().decode()
            sizes = self._function(f"emu_sizes_{number}", ctypes.POINTER(ctypes.c_uint32))()
            names = self.kernels.get(name, Kernel(name, (), True)).parameters
            self._signatures[name] = describe(name, names, letters, sizes[: len(letters) // 3])
        return self._signatures[name]

    def run(self, name: str, values: Sequence[Any], launch: Launch, report: Report) -> None:
        """Run a kernel on packed arguments; what it did wrong is in `report`."""
        pointers = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(v) for v in values])
        self._function(f"emu_launch_{self._number(name)}", None)(pointers, ctypes.byref(launch), ctypes.byref(report))

    @functools.cached_property
    def table(self) -> ctypes.Array[SpaceStruct]:
        """Room for the structures of one launch; those of the program's own variables come first and stay."""
        table = (SpaceStruct * MAX_SPACES)()
        for i, (v, state) in enumerate(zip(self.variables, self._states, strict=True)):
            flags = IGNORED if v.guard else (SHARED if v.shared else 0) | TRACKED
            table[i] = SpaceStruct(self.base + v.offset, v.size, 0, 0, state.ctypes.data, 4, flags)
        return table

    def dynamic_space(self, size: int) -> SpaceStruct:
        """The structure of `size` bytes of dynamic shared memory."""
        address = self._function("emu_dynamic_shared", ctypes.c_void_p)()
        after = DYNAMIC_BYTES + RED_ZONE - size
        return SpaceStruct(address, size, RED_ZONE, after, self._dynamic_state.ctypes.data, 4, SHARED | TRACKED)

    def pool(self) -> int:
        """The address of stacks and shadow cells, made by this program's copy of the runtime."""
        address = self._function("emu_pool", ctypes.c_void_p)()
        if not address:
            raise MemoryError(
                "the CUDA emulator could not reserve address space for stacks and shadow memory (ulimit -v)"
            )
        return int(address)

    def sites(self, addresses: Sequence[int]) -> dict[int, Site | None]:
        """The source lines of return addresses (relative to the library's base), None where the source is not known."""
        wanted = sorted({a for a in addresses if a})
        if not wanted:
            return {}
        command = [toolchain.tool("addr2line"), "-e", str(self.library_path), "-a", "-i", *[hex(a - 1) for a in wanted]]
        blocks = re.split(r"^0x[0-9a-f]+\n", toolchain.run(command), flags=re.M)[1:]
        return {a: self._site(block.splitlines()) for a, block in zip(wanted, blocks, strict=True)}

    def _site(self, frames: list[str]) -> Site | None:
        for frame in frames:  # innermost inlined frame first
            file, _, line = frame.partition(" ")[0].rpartition(":")
            if f"{_RUNTIME_NAME}/" in file or not line.isdigit():  # the compiler's folder stands before it
                continue
            name = file.removeprefix(f"{toolchain.cache_directory()}/")
            return Site(name, int(line), self._lines.get((name, int(line)), ""))
        return None

    @functools.cached_property
    def _lines(self) -> dict[tuple[str, int], str]:
        """The stripped source lines by file and number, as the text's #line directives name them."""
        found: dict[tuple[str, int], str] = {}
        file, number = self.path, 1
        for line in self.text.splitlines():
            if directive := re.match(r'\s*#\s*line\s+(\d+)(?:\s+"([^"]+)")?', line):
                file, number = directive[2] or file, int(directive[1])
                continue
            found[file, number] = line.strip()
            number += 1
        return found

    def _number(self, name: str) -> str:
        if name not in self.exports:
            raise KeyError(
                f"{self.path} has no kernel {name!r} that can be called by name; it has {', '.join(self.exports)}"
            )
        return self.exports[name]

    def _function(self, name: str, result: Any) -> Any:
        function = getattr(self._library, name)
        function.restype = result
        return function

    def _key(self) -> str:
        flags = [f for f in self._compile_flags() if not f.startswith("-ffile-prefix-map")]
        folders = tuple(f[2:] for f in self._flags if f.startswith("-I"))
        return toolchain.digest(
            self.text,
            self.path,
            self.checked,
            flags,
            _RUNTIME_NAME,
            self._flags,
            self.exports,
            included(self.text, folders),
        )

    def _compile_flags(self) -> list[str]:
        # DWARF 4: addr2line of binutils 2.40 reads g++ 12's file numbers of DWARF 5 off by one
        mode = toolchain.checked_flags() if self.checked else toolchain.FAST
        # the cache is shared by all installations of the suite: line tables must not say where one of them lies
        renamed = f"-ffile-prefix-map={toolchain.RUNTIME}={_RUNTIME_NAME}"
        return [*toolchain.COMMON, *toolchain.machine_flags(), "-g1", "-gdwarf-4", renamed, *mode]

    def _build(self) -> pathlib.Path:
        key = self._key()
        exports = "".join(f"\nEMU_EXPORT({number}, {name})" for name, number in self.exports.items())
        text = f'#line 1 "{self.path}"\n{rewritten(self.text)}\n#line 1 "exports"{exports}\n'
        flags = self._compile_flags()
        include = ["-I", str(toolchain.RUNTIME / "include"), "-include", "emulator.h"]

        def make(path: pathlib.Path) -> None:
            source, unit = path.with_suffix(".cu"), path.with_suffix(".o")
            try:
                source.write_text(text)
                toolchain.run(
                    [
                        toolchain.compiler(),
                        *flags,
                        *include,
                        *self._flags,
                        "-x",
                        "c++",
                        "-c",
                        str(source),
                        "-o",
                        str(unit),
                    ]
                )
                toolchain.run(
                    [
                        toolchain.compiler(),
                        "-shared",
                        str(unit),
                        str(toolchain.runtime_object()),
                        "-lm",
                        "-lrt",
                        "-Wl,-Bsymbolic",
                        "-o",
                        str(path),
                    ]
                )
            finally:
                source.unlink(missing_ok=True)
                unit.unlink(missing_ok=True)

        return toolchain.build(f"{key}.so", make)

    def _symbols(self) -> pathlib.Path:
        def make(path: pathlib.Path) -> None:
            raw = _data_symbols(self.library_path)
            own = _runtime_names()
            plain = _data_symbols(self.library_path, "-C")
            variables = [
                (
                    re.sub(r"\(.*\)|<.*>", "", nice[3]).split("::")[-1],
                    at,
                    size,
                    name.startswith("_ZZ"),
                    name.startswith("_ZGV"),
                )
                for (at, size, _, name), nice in zip(raw, plain, strict=True)
                if name not in own and "emu_red_zone" not in name and not name.startswith(("_ZT", "__", "completed"))
            ]
            table = toolchain.run([toolchain.tool("nm"), "--defined-only", str(self.library_path)])
            anchor = next(int(line.split()[0], 16) for line in table.splitlines() if line.endswith(" emu_pool"))
            path.write_text(json.dumps({"anchor": anchor, "variables": variables}))

        return toolchain.build(f"{self._key()}.json", make)


def _data_symbols(path: pathlib.Path, *flags: str) -> list[tuple[int, int, str, str]]:
    lines = toolchain.run([toolchain.tool("nm"), "-S", "-p", "--defined-only", *flags, str(path)]).splitlines()
    fields = [line.split(maxsplit=3) for line in lines]
    return [(int(f[0], 16), int(f[1], 16), f[2], f[3]) for f in fields if len(f) == 4 and f[2] in "bBdDuV"]


@functools.cache
def _runtime_names() -> frozenset[str]:
    lines = toolchain.run([toolchain.tool("nm"), "--defined-only", str(toolchain.runtime_object())]).splitlines()
    return frozenset(line.split()[-1] for line in lines)


@functools.cache
def load(
    text: str, *, checked: bool, options: tuple[str, ...] = (), path: str | None = None, names: tuple[str, ...] = ()
) -> Program:
    """The program of a text, compiled once in this process."""
    return Program(text, checked=checked, options=options, path=path, names=names)
