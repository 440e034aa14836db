"""Kernels of a CUDA text as a shared library of the host: their signatures, shared arrays and source lines."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.emulator import machine, toolchain
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
from conformance.emulator.refusals import refusal
from conformance.emulator.signature import Signature, describe
from conformance.emulator.subscripts import subscripts
from conformance.events import Site

# What line tables call the folder of the runtime and its headers.
_RUNTIME_NAME = "cuda-emulator-runtime"
# -fsanitize=thread would bring libtsan in among the default libraries.
_LIBRARIES = ("-nodefaultlibs", "-lm", "-lc", "-lgcc", "-Wl,-Bsymbolic,-z,defs")
DYNAMIC = "dynamic shared memory"
_RED_ZONE_NAME = "emu_red_zone"  # qualifiers.h


@dataclasses.dataclass(frozen=True)
class Variable:
    """A `__shared__` array, or a variable that outlives a block, of a library."""

    name: str
    offset: int  # from the library's base
    size: int
    shared: bool
    guard: bool = False  # of the initialisation of a function static: the compiler's own

    @property
    def title(self) -> str:
        """What reports call it."""
        return self.name if self.name == DYNAMIC else f"{'shared' if self.shared else 'device'} {self.name}"


class Library:
    """The kernels of `exports` (name to parameter names), compiled from `unit`, with checks or without.

    `overflow` checks signed arithmetic as well.
    `text` is the author's, for the lines of reports, and `path` the author's name for it; `beside` what else decides
    the result: the texts of included files.

    Raises:
        CompileError: the text does not compile; `NotModelled` where it would for a GPU.
        ToolchainError: there is no compiler.
    """

    def __init__(
        self,
        unit: str,
        exports: Mapping[str, Sequence[str]],
        *,
        text: str,
        path: str,
        checked: bool,
        overflow: bool = False,
        options: Sequence[str] = (),
        beside: Sequence[str] = (),
    ) -> None:
        self.checked = checked
        self.path = path
        self._text = text
        self._exports = {name: (number, tuple(names)) for number, (name, names) in enumerate(exports.items())}
        exported = "".join(f"\nEMU_EXPORT({number}, {name})" for name, (number, _) in self._exports.items())
        self._unit = f'#line 1 "{path}"\n{unit}\n#line 1 "exports"{exported}\n'
        self._options = tuple(options)
        self.dynamic = "EMU_DYNAMIC_SHARED(" in unit  # has `extern __shared__` arrays
        self._flags = flags(checked, overflow=overflow)
        self._key = toolchain.digest(self._unit, self._flags, _LIBRARIES, self._options, tuple(beside))
        machine.library()  # first: the kernels' library asks for it by name
        self.file = toolchain.build(f"{self._key}.so", self._make)
        self._library = ctypes.CDLL(str(self.file))
        self._entries = {
            name: ctypes.cast(self._library[f"emu_entry_{number}"], ctypes.c_void_p).value or 0
            for name, (number, _) in self._exports.items()
        }
        self._signatures: dict[str, Signature] = {}
        places = subscripts(self._unit) if checked else []
        self._subscripts = (ctypes.c_uint64 * max(1, len(places)))(*places)
        self._subscript_count = len(places)
        self.module = machine.module_of(next(iter(self._entries.values())))
        symbols = json.loads(toolchain.build(f"{self._key}.json", self._write_variables).read_text())
        self.variables = tuple(Variable(*v) for v in symbols)
        full = ELEMENT | INIT | WRITABLE
        self._states = [np.full(v.size, full, dtype=np.uint8) for v in self.variables]
        self._dynamic_state = np.full(DYNAMIC_BYTES, full, dtype=np.uint8)

    @property
    def stateful(self) -> bool:
        """Whether a kernel here has a variable that outlives a block, which another kernel of the text may share."""
        return any(not v.shared and not v.guard for v in self.variables)

    def signature(self, name: str) -> Signature:
        """The signature of a kernel, as the compiler sees it."""
        if name not in self._signatures:
            number, names = self._exports[name]
            letters = self._function(f"emu_describe_{number}", ctypes.c_char_p)().decode()
            sizes = self._function(f"emu_sizes_{number}", ctypes.POINTER(ctypes.c_uint32))()
            self._signatures[name] = describe(name, names, letters, sizes[: len(letters) // 3])
        return self._signatures[name]

    def run(self, name: str, values: Sequence[Any], launch: Launch, report: Report) -> None:
        """Run a kernel on packed arguments; what it did wrong is in `report`."""
        pointers = (ctypes.c_void_p * max(1, len(values)))(*map(ctypes.addressof, values))
        launch.module = self.module
        launch.subscripts, launch.subscript_count = self._subscripts, self._subscript_count
        machine.library().emu_run(self._entries[name], pointers, launch, report)

    @functools.cached_property
    def table(self) -> ctypes.Array[SpaceStruct]:
        """Room for the structures of one launch; those of the library's own variables come first and stay."""
        table = (SpaceStruct * MAX_SPACES)()
        for i, (v, state) in enumerate(zip(self.variables, self._states, strict=True)):
            flags = IGNORED if v.guard else (SHARED if v.shared else 0) | TRACKED
            table[i] = SpaceStruct(self.module.low + v.offset, v.size, 0, 0, state.ctypes.data, 4, flags)
        return table

    def dynamic_space(self, size: int) -> SpaceStruct:
        """The structure of `size` bytes of dynamic shared memory."""
        space = self._dynamic
        space.bytes, space.margin_high = size, DYNAMIC_BYTES + RED_ZONE - size
        return space

    @functools.cached_property
    def _dynamic(self) -> SpaceStruct:
        state = self._dynamic_state.ctypes.data
        return SpaceStruct(machine.dynamic_shared(), 0, RED_ZONE, 0, state, 4, SHARED | TRACKED)

    def sites(self, addresses: Sequence[int]) -> dict[int, Site | None]:
        """The source lines of return addresses (relative to the library's base), None where the source is not known."""
        wanted = sorted({a for a in addresses if a})
        if not wanted:
            return {}
        command = [toolchain.tool("addr2line"), "-e", str(self.file), "-a", "-i", *[hex(a - 1) for a in wanted]]
        blocks = re.split(r"^0x[0-9a-f]+\n", toolchain.run(command), flags=re.M)[1:]
        return {a: self._site(block.splitlines()) for a, block in zip(wanted, blocks, strict=True)}

    def _site(self, frames: list[str]) -> Site | None:
        for frame in frames:  # innermost inlined frame first
            file, _, line = frame.partition(" (discriminator")[0].rpartition(":")
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
        for line in self._text.splitlines():
            if directive := re.match(r'\s*#\s*line\s+(\d+)(?:\s+"([^"]+)")?', line):
                file, number = directive[2] or file, int(directive[1])
                continue
            found[file, number] = line.strip()
            number += 1
        return found

    def _function(self, name: str, result: Any) -> Any:
        function = self._library[name]
        function.restype = result
        return function

    def _make(self, path: pathlib.Path) -> None:
        source = path.with_suffix(".cu")
        # the cache is shared by all installations of the suite: line tables must not say where one of them lies
        renamed = f"-ffile-prefix-map={toolchain.RUNTIME}={_RUNTIME_NAME}"
        include = ["-I", str(toolchain.RUNTIME / "include"), "-include", "emulator.h"]
        command = [
            *(toolchain.compiler(), *self._flags, renamed, *include, *self._options),
            *("-shared", "-x", "c++", str(source), "-x", "none", str(toolchain.runtime_library())),
            *(*_LIBRARIES, "-o", str(path)),
        ]
        try:
            source.write_text(self._unit)
            try:
                toolchain.run(command)
            except toolchain.CompileError:  # it may call what emulator.h leaves out
                toolchain.run([*command, "-DEMU_FURTHER"])
        except toolchain.CompileError as error:
            raise refusal(str(error), f'#line 1 "{self.path}"\n{self._text}') from None
        finally:
            source.unlink(missing_ok=True)

    def _write_variables(self, path: pathlib.Path) -> None:
        listed = toolchain.run([toolchain.tool("nm"), "-S", "-n", "--defined-only", str(self.file)])
        path.write_text(json.dumps([dataclasses.astuple(v) for v in variables(listed)]))


def flags(checked: bool, *, overflow: bool = False) -> tuple[str, ...]:
    """The flags that kernels are compiled with; `overflow` checks signed arithmetic as well."""
    # DWARF 4: addr2line of binutils 2.40 reads g++ 12's file numbers of DWARF 5 off by one
    # variable tracking is for debuggers alone, and costs a tenth of the time
    lines = ("-g1", "-gdwarf-4", "-fno-var-tracking")
    mode = toolchain.checked_flags(overflow=overflow) if checked else toolchain.FAST
    return (*toolchain.COMMON, *toolchain.KERNEL, *toolchain.machine_flags(), *lines, *mode)


def variables(listed: str) -> list[Variable]:
    """The variables of a library, from what `nm -S -n` lists of it.

    A red zone stands before each `__shared__` array; a static of a function without one is a plain `static`, which
    outlives the block.
    """
    fields = [line.split(maxsplit=3) for line in listed.splitlines()]
    data = [(int(f[0], 16), int(f[1], 16), f[3]) for f in fields if len(f) == 4 and f[2] in "bBdDuV"]
    own = [(at, size, name) for at, size, name in data if not name.startswith(("_ZT", "__", "completed"))]
    zones = sum(_RED_ZONE_NAME in name for *_, name in own)
    locals_ = sum(name.startswith("_ZZ") and _RED_ZONE_NAME not in name for *_, name in own)
    found, after_zone = [], False
    for at, size, name in own:
        if _RED_ZONE_NAME in name:
            after_zone = True
            continue
        shared = name.startswith("_ZZ") and (zones == locals_ or after_zone)
        found.append(Variable(_source_name(name), at, size, shared, name.startswith("_ZGV")))
        after_zone = False
    return found


def _source_name(symbol: str) -> str:
    """The name in the source of a symbol of the Itanium ABI: its last part that has a length before it.

    >>> _source_name("_ZZ6kernelE1a"), _source_name("_ZL4coef"), _source_name("counter"), _source_name("_ZZ1fvE4seen_0")
    ('a', 'coef', 'counter', 'seen')
    """
    if not symbol.startswith("_Z"):
        return symbol
    for match in reversed(list(re.finditer(r"(?<=\D)[1-9]\d*", symbol))):
        name = symbol[match.end() : match.end() + int(match[0])]
        rest = symbol[match.end() + len(name) :]
        if len(name) == int(match[0]) and re.match(r"[A-Za-z_]", name) and re.fullmatch(r"E?(?:_\d+|__\d+_)?", rest):
            return name
    return symbol
