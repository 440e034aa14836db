"""The system's C++ compiler and binutils, and a cache of what they built."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence

from conformance.runtime import CannotBeJudged, ToolMissing

RUNTIME = pathlib.Path(__file__).resolve().parent / "runtime"

# -ffp-contract=off: results must not depend on the host's multiply-add. -fno-threadsafe-statics: `__shared__` arrays
# are function statics, and half has a constructor. -fno-toplevel-reorder: red zones stay beside their arrays.
COMMON = (
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-threadsafe-statics",
    "-fno-math-errno",
    "-fwrapv",
    "-fno-finite-loops",  # an endless loop must stay one
    "-w",
)
KERNEL = ("-fno-plt",)  # calls of the runtime, at every access, go through one jump less
# An index outside an array of known length is reported (with g++: clang++ counts columns in another way), and a local
# variable that nobody set does not happen to be 0.
_BOUNDS, _PATTERN = "-fsanitize=bounds", "-ftrivial-auto-var-init=pattern"
_OVERFLOW = ("-fsanitize=signed-integer-overflow", "-fno-wrapv")  # with -fwrapv there is none to report
_PATTERN_SINCE = 12  # g++ (release notes of GCC 12); every clang++ of the last years has it
FAST = ("-O2", "-fno-optimize-sibling-calls")  # a tail call would hide the line that calls the runtime


class ToolchainError(ToolMissing):
    """The emulator needs a C++ compiler and binutils, and one of them is missing."""


class CompileError(ValueError):
    """The CUDA text does not compile; the message is the compiler's."""


class NotModelled(CompileError, CannotBeJudged):
    """The CUDA text uses what a GPU has and the emulator has not."""


@functools.cache
def compiler() -> str:
    """The compiler's command: `$CONFORMANCE_CXX`, else g++, else clang++.

    Raises:
        ToolchainError: none is there.
    """
    wanted = os.environ.get("CONFORMANCE_CXX")
    for name in [wanted] if wanted else ["g++", "clang++"]:
        if found := shutil.which(name):
            return found
    missing = (
        f"$CONFORMANCE_CXX names {wanted!r}, which is not on the path"
        if wanted
        else "neither g++ nor clang++ is on the path"
    )
    raise ToolchainError(
        f"CUDA kernels run on the CPU through a C++17 compiler, and {missing}. Install g++ (Debian: apt install g++)."
    )


def tool(name: str) -> str:
    """The path of a program of binutils (`nm`, `addr2line`).

    Raises:
        ToolchainError: it is not there.
    """
    if found := shutil.which(name):
        return found
    raise ToolchainError(
        f"the CUDA emulator needs `{name}` of GNU binutils, which is not on the path (Debian: apt install binutils)."
    )


def checked_flags(*, overflow: bool) -> tuple[str, ...]:
    """The flags of a checked build: every access calls the runtime first, and a float4 copy stays one access.

    `overflow`: signed arithmetic that wraps round calls it too (with g++).
    """
    if "clang" in pathlib.Path(compiler()).name:
        return (
            "-O1",
            "-fsanitize=thread",
            _PATTERN,
            "-mllvm",
            "-tsan-instrument-func-entry-exit=0",
            "-mllvm",
            "-tsan-instrument-read-before-write=1",
        )
    return (
        "-O1",
        "-fsanitize=thread",
        _BOUNDS,
        *(_OVERFLOW if overflow else ()),
        *([_PATTERN] if _major() >= _PATTERN_SINCE else []),
        "--param",
        "tsan-instrument-func-entry-exit=0",
        "-fno-tree-sra",
        "-fno-toplevel-reorder",
    )


@functools.cache
def machine_flags() -> tuple[str, ...]:
    """The flags for this processor: half conversions and multiply-add in hardware where it has them."""
    if platform.machine() != "x86_64":
        return ()
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return ()
    have = set(text.partition("flags")[2].partition("\n")[0].split())
    return ("-mf16c", "-mfma", "-mavx2") if {"f16c", "fma", "avx2"} <= have else ()


@functools.cache
def cache_directory() -> pathlib.Path:
    """The folder of built libraries: `$XDG_CACHE_HOME/triton-conformance`, else `~/.cache/triton-conformance`."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "triton-conformance"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def digest(*parts: object) -> str:
    """A file name's worth of hash of the parts, of this compiler and of the runtime's text."""
    text = "\0".join(map(str, (*parts, compiler(), _version(), _runtime_text())))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _major() -> int:
    found = re.search(r"\b(\d+)\.\d+", _version())
    return int(found[1]) if found else 0


@functools.cache
def _version() -> str:
    return run([compiler(), "--version"])


@functools.cache
def _runtime_text() -> str:
    return "\0".join(p.read_text() for p in sorted(RUNTIME.rglob("*")) if p.is_file())


def run(command: Sequence[str]) -> str:
    """The standard output of a command.

    Raises:
        CompileError: the command failed.
    """
    done = subprocess.run(command, capture_output=True, text=True, cwd=cache_directory(), check=False)
    if done.returncode:
        raise CompileError(done.stderr)
    return done.stdout


def build(target: str, make: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """The path of `target` in the cache, which `make(path)` writes when it is not there.

    Safe when several processes build at once: each writes a file of its own and renames it.
    """
    path = cache_directory() / target
    if path.exists():
        return path
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    os.close(handle)
    try:
        make(pathlib.Path(name))
        os.replace(name, path)
    except BaseException:
        pathlib.Path(name).unlink(missing_ok=True)
        raise
    return path


@functools.cache
def runtime_library() -> pathlib.Path:
    """The path of the compiled runtime, a shared library that every kernel's library needs."""
    name = f"cuda-emulator-{digest(COMMON, machine_flags(), FAST)}.so"
    # by its name alone: where it has been loaded, from whatever folder, the loader takes that one
    linked = ("-shared", f"-Wl,-soname,{name}", "-Wl,-Bsymbolic", "-lrt")

    def make(path: pathlib.Path) -> None:
        run([compiler(), *COMMON, *machine_flags(), *FAST, str(RUNTIME / "runtime.cpp"), "-o", str(path), *linked])

    return build(name, make)
