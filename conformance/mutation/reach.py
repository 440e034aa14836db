"""Which kernels of a CUDA text run a line of it, so that no subject judges what it cannot reach."""

from __future__ import annotations

import dataclasses
import functools
import re

from conformance.emulator.source import kernels, without_comments

# the name before the parameters of a function, with the arguments of a specialization behind it
_NAME = re.compile(r"(\w+)\s*(?:<[^()]*>)?\s*$")


@dataclasses.dataclass(frozen=True)
class Definition:
    """A definition at the top level of a text: its characters, and its name if it is a function."""

    start: int
    end: int
    name: str | None


def definitions(text: str) -> list[Definition]:
    """The definitions at the top level, in order; together they are the whole text.

    >>> [d.name for d in definitions("constexpr int N = 8;\\nint f(int i) { return i; }\\nstruct S { int g(); };")]
    [None, 'f', None]
    """
    plain = re.sub(r"^\s*#[^\n]*", lambda m: " " * len(m[0]), without_comments(text), flags=re.M)
    found, start, depth = [], 0, 0
    for at, character in enumerate(plain):
        depth += (character in "{(") - (character in "})")
        closed = character == "}" and not plain[at + 1 :].lstrip().startswith(";")
        if depth == 0 and (character == ";" or closed):
            found.append(Definition(start, at + 1, _function(plain[start : at + 1])))
            start = at + 1
    if found:
        found[-1] = dataclasses.replace(found[-1], end=len(text))
    return found


@functools.lru_cache(maxsize=64)
def kernel_names(text: str) -> tuple[str, ...]:
    """The names of the kernels of a text."""
    return tuple(kernel.name for kernel in kernels(text))


@functools.lru_cache(maxsize=64)
def reached(text: str, launches: str) -> tuple[Definition, ...]:
    """The definitions that a kernel named by the regular expression runs; those of no function are always among them.

    All are where no kernel has such a name: then kernels are named in a way that the text does not show.

    >>> kernel = 'extern "C" __global__ void '
    >>> text = "int f() {} int g() {}" + kernel + "a() { f(); }" + kernel + "b() { g(); }"
    >>> [d.name for d in reached(text, "a")]
    ['f', 'a']
    """
    every, plain = definitions(text), without_comments(text)
    known = {d.name for d in every}
    named = {name for name in kernel_names(text) if re.fullmatch(launches, name)} & known
    used = {*named, None} if named else known
    while True:
        words = {w for d in every if d.name in used for w in re.findall(r"\w+", plain[d.start : d.end])}
        more = used | (words & known)
        if more == used:
            return tuple(d for d in every if d.name in used)
        used = more


@functools.lru_cache(maxsize=64)
def lines(text: str, launches: str) -> frozenset[int]:
    """The numbers of the lines of the definitions that are reached."""
    spans = [(text.count("\n", 0, d.start) + 1, text.count("\n", 0, d.end) + 1) for d in reached(text, launches)]
    return frozenset(line for first, last in spans for line in range(first, last + 1))


def _function(plain: str) -> str | None:
    """The name of the function that the text defines, None if it defines none."""
    head = plain.partition("{")[0].rstrip()
    if not head.endswith(")") or "{" not in plain:
        return None
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        depth += (head[at] == ")") - (head[at] == "(")
        if depth == 0:
            match = _NAME.search(head[:at])
            return match[1] if match else None
    return None
