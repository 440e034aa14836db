"""Where a text subscripts arrays that no other check sees: a thread's own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.emulator.source import without_comments

_SHARED = re.compile(r"\b__shared__\b[^;{}]*?\b(\w+)\s*(?:\[|;)|EMU_DYNAMIC_SHARED\([^,]*,\s*(\w+)")
_LINE = re.compile(r'\s*#\s*line\s+(\d+)(?:\s+"([^"]+)")?')


def subscripts(unit: str) -> list[int]:
    """The sorted hashes of the places of subscripts that may be an overrun of a thread's own array.

    A place is the closing bracket, as the compiler counts. Shared arrays are left out, and inner subscripts, since
    `tile[0][i]` may walk through all rows.

    >>> len(subscripts("float a[4]; __shared__ float s[2][2]; a[i] = s[j][k] + b[0][1];"))
    4
    """
    plain = without_comments(unit)
    shared = {name for match in _SHARED.finditer(plain) for name in match.groups() if name}
    found: set[int] = set()
    file, number = "", 1
    for line in plain.split("\n"):
        if directive := _LINE.match(line):
            number, file = int(directive[1]), directive[2] or file
            continue
        found.update(_hash(file, number, column) for column in _columns(line, shared))
        number += 1
    return sorted(found)


def _columns(line: str, shared: set[str]) -> Iterator[int]:
    """The columns, from 1, of the brackets that close an outermost subscript of an array that is not shared."""
    opened: list[int] = []
    for at, character in enumerate(line):
        if character == "[":
            opened.append(at)
        elif character == "]" and opened:
            base = re.search(r"(\w+|\S)\s*$", line[: opened.pop()])
            if base is not None and base[1] != "]" and base[1] not in shared:
                yield at + 1


def _hash(file: str, line: int, column: int) -> int:
    """FNV-1a of the file's name, with the place, as in runtime/subscripts.cpp."""
    value = 0xCBF29CE484222325
    for byte in file.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value ^ (line << 12 | column)
