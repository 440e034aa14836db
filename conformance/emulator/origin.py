"""Where a CUDA text that a program gives as a string comes from: a file, and the line on which it starts."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from conformance.emulator.source import kernels

UNKNOWN = "source given as a string"
# Of the lines of a literal and of the text that was made from it (`replace`, `%`, an f-string): that many are the same.
_SAME = 0.5


def caller() -> str:
    """The file of the innermost frame that is not the emulator's."""
    frame = sys._getframe(1)
    own = os.path.dirname(__file__) + os.sep
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return frame.f_code.co_filename


def placed(code: str, file: str) -> str:
    """The text behind a `#line` that names where it comes from; `file` is the Python file that gives it.

    That is the literal in the file, or in a module that has the very string in a variable, or a CUDA file in the same
    folder or one below. A literal whose lines are not those of the text is named with its own line.

    >>> placed("__global__ void f() {}", "nowhere.py").splitlines()[0]
    '#line 1 "source given as a string"'
    """
    if code.lstrip().startswith("#line"):
        return code
    name, line = _origin(code, file)
    return f'#line {line} "{name}"\n{code}'


@functools.cache
def _origin(code: str, file: str) -> tuple[str, int]:
    for each in (file, *_holders(code)):
        if found := _in_python(code, each):
            return found
    folder = Path(file).parent
    for path in sorted((*folder.glob("*.cu*"), *folder.glob("*/*.cu*"))):
        if path.is_file() and path.stat().st_size < 4 * len(code) + 4 and path.read_text(errors="replace") == code:
            return str(path), 1
    return UNKNOWN, 1


def _holders(code: str) -> Iterator[str]:
    """The files of the modules that have this very string in a variable."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and any(value is code for value in list(vars(module).values())):
            yield file


def _in_python(code: str, file: str) -> tuple[str, int] | None:
    """The file and the line on which the text starts, where one literal of the file is the text or what it is made of:
    of the same kernels, most lines the same, and more than of any other."""
    names = {kernel.name for kernel in kernels(code)}
    same = [literal for literal in _literals(file) if {kernel.name for kernel in kernels(literal[0])} == names]
    ranked = sorted(((_alike(literal[0], code), *literal) for literal in same), reverse=True)
    if not ranked or ranked[0][0] < _SAME or (len(ranked) > 1 and ranked[1][0] == ranked[0][0] < 1):
        return None
    _, text, first, lines = ranked[0]
    # lines of the file are lines of the text: no "\n" is written as an escape but at the end of a line
    if lines in (text.count("\n"), text.rstrip("\n").count("\n")):
        return file, first
    return f"{file}, string of line {first}", 1


@functools.cache
def _literals(file: str) -> tuple[tuple[str, int, int], ...]:
    """The strings of a Python file that have a kernel: text, first line, and how many lines they go on."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "" for part in node.values)
        else:
            continue
        if "__global__" in text:
            found.append((text, node.lineno, (node.end_lineno or node.lineno) - node.lineno))
    return tuple(found)


def _alike(literal: str, code: str) -> float:
    """The share of the lines that are the same, 0 where there are not as many."""
    one, two = literal.split("\n"), code.split("\n")
    return sum(map(str.__eq__, one, two)) / len(one) if len(one) == len(two) else 0.0
