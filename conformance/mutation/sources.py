"""The source text of kernels, and a kernel loaded from a copy in which one of them is a mutant."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import operator
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance.mutation import callees, cuda, jit, reach
from conformance.mutation.mutant import Mutant
from conformance.targets import TargetError

CUDA = (".cu", ".cuh", ".h", ".hpp")  # what a launcher may read from its own folder
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def source(kernels: Sequence[Callable[..., Any]]) -> Path:
    """The file that is mutated: the `.cu` of the same name beside the kernels' file, else that file itself.

    Raises:
        TargetError: a kernel is no Python function of a file, or they are of several files.
    """
    files = {file_of(kernel) for kernel in kernels}
    if len(files) != 1:
        raise TargetError(
            f"the kernels are of several files ({', '.join(map(str, sorted(files)))}): mutate one at a time"
        )
    (file,) = files
    beside = file.with_suffix(".cu")
    return beside if beside.is_file() else file


def headers(source: Path) -> list[Path]:
    """The files that a CUDA source includes by `#include "name"`, and those that they include: each before the files
    that include it."""
    found: list[Path] = []
    for name in _INCLUDE.findall(source.read_text(encoding="utf-8")):
        path = (source.parent / name).resolve()
        if path.is_file():
            found += [each for each in (*headers(path), path) if each not in found]
    return found


def mutants(source: Path) -> Iterator[Mutant]:
    """The mutants of a source file, by its kind."""
    text = source.read_text(encoding="utf-8")
    yield from cuda.mutants(text) if source.suffix in CUDA else jit.mutants(text)


def definition(source: Path, line: int) -> str:
    """The name of the function that the line of a source file is in, "" where it is in none."""
    text = source.read_text(encoding="utf-8")
    if source.suffix in CUDA:
        ends = [(text.count("\n", 0, d.end) + 1, d.name) for d in reach.definitions(text)]
        return next((name for end, name in ends if line <= end), None) or ""
    within = [statement for statement in ast.parse(text).body if line in callees.lines([statement])]
    return next((str(statement.name) for statement in within if hasattr(statement, "name")), "")


def load(kernel: Callable[..., Any], source: Path, text: str, folder: Path) -> Callable[..., Any]:
    """The kernel of the same name with `text` in place of `source`, from copies in `folder`.

    The module keeps its name and its lines, so reports differ in the folder alone. For a process that ends afterwards:
    the module takes the place of the original.
    """
    file = file_of(kernel)
    for suffix in CUDA:
        for other in file.parent.glob(f"*{suffix}"):
            shutil.copy(other, folder / other.name)
    shutil.copy(file, folder / file.name)
    (folder / source.name).write_text(text, encoding="utf-8")
    name = kernel.__module__
    spec = importlib.util.spec_from_file_location(name, folder / file.name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    loaded: Callable[..., Any] = operator.attrgetter(kernel.__qualname__)(module)
    return loaded


def file_of(kernel: Callable[..., Any]) -> Path:
    """The file that defines the kernel.

    Raises:
        TargetError: it is no Python function at the top level of a file.
    """
    function = inspect.unwrap(kernel) if inspect.isfunction(kernel) else None
    name = inspect.getsourcefile(function) if function is not None else None
    if function is None or name is None or "<locals>" in function.__qualname__:
        raise TargetError(f"{kernel!r} cannot be mutated: it must be a Python function at the top level of a file")
    return Path(name).resolve()
