"""Where a text subscripts arrays that no other check sees: a thread's own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.emulator.source import without_comments

_SHARED = re.compile(r"\b__shared__\b[^;{}]*?\b(\w+)\s*(?:\[|;)|EMU_DYNAMIC_SHARED\([^,]*,\s*(\w+)")
# arrays in device memory, and pointers to arrays that may lie there
_GLOBAL = re.compile(r"\b__(?:device|constant)__\b[^;{}()=]*?\b(\w+)\s*\[|\(\s*\*[\s\w]*?\b(\w+)\s*\)\s*\[")
_LINE = re.compile(r'\s*#\s*line\s+(\d+)(?:\s+"([^"]+)")?')


def subscripts(unit: str) -> list[int]:
    """The sorted hashes of the places of subscripts that may be an overrun of a thread's own array.

    A place is a bracket, as the compiler counts: the closing one, and in a template the opening one. Shared arrays are
    left out, and so are inner subscripts of arrays in device memory, since `tile[0][i]` may walk through all rows
    there; a thread's own array is in registers, where no row lies behind another.

    >>> len(subscripts("float a[4]; __shared__ float s[2][2]; a[i] = s[j][k] + b[0][1];"))
    8
    """
    plain = without_comments(unit)
    shared, elsewhere = _names(_SHARED, plain), _names(_GLOBAL, plain)
    found: set[int] = set()
    file, number = "", 1
    for line in plain.split("\n"):
        if directive := _LINE.match(line):
            number, file = int(directive[1]), directive[2] or file
            continue
        found.update(_hash(file, number, column) for column in _columns(line, shared, elsewhere))
        number += 1
    return sorted(found)


def _names(pattern: re.Pattern[str], text: str) -> set[str]:
    return {name for match in pattern.finditer(text) for name in match.groups() if name}


def _columns(line: str, shared: set[str], elsewhere: set[str]) -> Iterator[int]:
    """The columns, from 1, of the brackets of subscripts of arrays that are not shared; of arrays that lie elsewhere,
    of the outermost ones."""
    opened: list[int] = []
    arrays: dict[int, str] = {}  # of what array the subscript is that ends at a column
    for at, character in enumerate(line):
        if character == "[":
            opened.append(at)
        elif character == "]" and opened:
            start = opened.pop()
            before = line[:start].rstrip()
            inner = before.endswith("]")
            base = re.search(r"(\w+|\S)$", before)
            array = arrays.get(len(before) - 1, "") if inner else base[1] if base is not None else ""
            arrays[at] = array
            if array and array not in shared and not (inner and array in elsewhere):
                yield from (start + 1, at + 1)


def _hash(file: str, line: int, column: int) -> int:
    """FNV-1a of the file's name, with the place, as in runtime/subscripts.cpp."""
    value = 0xCBF29CE484222325
    for byte in file.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value ^ (line << 12 | column)
