"""Mutants of CUDA source text, one edit each: the suite must object to every one that changes behaviour."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conformance.emulator.source import without_comments
from conformance.mutation.mutant import Mutant, edit

# statements that order memory or threads, and what starts and awaits asynchronous copies and products (ptx.cuh)
_SYNC = re.compile(
    r"(?:\b__syncthreads\s*\(\s*\)|\b__syncwarp\s*\([^()]*\)|\b__threadfence(?:_block|_system)?\s*\(\s*\)"
    r"|\b\w+\.sync\s*\(\s*\)|\b__pipeline_(?:wait_prior|commit)\s*\([^()]*\)"
    r"|\b(?:barrier|wgmma)_(?:init|init_fence|arrive|arrive_expect|wait|fence|commit)\s*(?:<\w+>)?\s*\([^()]*\))\s*;"
)
_VOTE = re.compile(r"\b__syncthreads_(?:or|and|count)\s*\(")
_ATOMIC = re.compile(r"(?<=[;{})\s])(atomicAdd)\s*\(")
_COMPARISON = re.compile(r"(?<=[\w\])]) (<=|>=|<|>) (?=[\w(&*-])")
_STRIDE = re.compile(
    r"\*\s*(\w*(?:stride|pitch|columns|cols)\w*|[a-z]\.\w*(?:stride|row|col)\w*|\bn\b|\bk\b|\bN\b|\bK\b)(?!\s*[\w(])",
    re.I,
)
# what a sum, a maximum or an index starts from, and numbers that something is divided by or reduced modulo
_CONSTANT = re.compile(r"(?<![=!<>])(?:=|:|/|%)\s*(-INFINITY|\d+)(?=\s*[;,)\]* ])")
_IF = re.compile(r"\bif\s*(?=\()")
_AND = re.compile(r"&&")


def mutants(text: str) -> Iterator[Mutant]:
    """Every single-edit mutant of `text`, in the order of the kinds below and of the lines.

    Kinds: "delete" a barrier, fence, sync or wait; "plain" for an atomic add; "widen" and "narrow" a comparison;
    "stride" one too large; "unmask" an `if`; "drop" one side of an `&&`; "constant" one larger or, for -INFINITY, 0.

    >>> [str(m) for m in mutants("if (i < n) s[i] = 0;\\n__syncthreads();")][0]
    'line 2: delete: `__syncthreads();` -> ``'
    """
    plain = _blank_strings(without_comments(text))
    for match in _SYNC.finditer(plain):
        yield edit(text, "delete", match.start(), match.end(), _kept_semicolon(plain, match.start()))
    for match in _VOTE.finditer(plain):
        yield edit(text, "delete", match.start(), match.end(), "(bool)(")
    for match in _ATOMIC.finditer(plain):
        end = _closing(plain, match.end() - 1)
        comma = _top_level_comma(plain, match.end(), end)
        if plain[end + 1 : end + 2] == ";" and comma is not None:
            pointer, value = text[match.end() : comma], text[comma + 1 : end].strip()
            yield edit(text, "plain", match.start(), end + 1, f"*({pointer}) += {value}")
    for match in _COMPARISON.finditer(plain):
        if _is_template(plain, match.start(1)):
            continue
        operator = match[1]
        yield edit(text, "widen" if len(operator) == 1 else "narrow", match.start(1), match.end(1), _other(operator))
        shifted = f"+ 1 {operator}" if operator[0] == "<" else f"- 1 {operator}"
        yield edit(text, "narrow", match.start(1), match.end(1), shifted)
    for match in _STRIDE.finditer(plain):
        yield edit(text, "stride", match.start(1), match.end(1), f"({match[1]} + 1)")
    for match in _IF.finditer(plain):
        end = _closing(plain, match.end())
        if plain[match.end() + 1 : end].strip() and not re.match(r"\bif\s*constexpr", plain[match.start() :]):
            yield edit(text, "unmask", match.end(), end + 1, "(true)")
    for match in _AND.finditer(plain):
        left, right = _operand_before(plain, match.start()), _operand_after(plain, match.end())
        yield edit(text, "drop", left, match.start(), "true ")
        yield edit(text, "drop", match.end(), right, " true")
    for match in _CONSTANT.finditer(plain):
        value = match[1]
        if re.match(r"[^\n]*\bconstexpr\b|\s*#", plain[plain.rfind("\n", 0, match.start()) + 1 :]):
            continue  # sizes of tiles and depths of unrolling are choices, not meaning
        yield edit(text, "constant", match.start(1), match.end(1), "0" if "INF" in value else str(int(value) + 1))


def _kept_semicolon(plain: str, start: int) -> str:
    """An empty statement where the deleted one is the whole body of an `if`, `else` or loop."""
    return ";" if re.search(r"(?:\)|\belse)\s*$", plain[:start]) else ""


def _blank_strings(text: str) -> str:
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', lambda m: '"' + " " * (len(m[0]) - 2) + '"', text)


def _closing(text: str, start: int) -> int:
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    return len(text) - 1


def _top_level_comma(text: str, start: int, end: int) -> int | None:
    depth = 0
    for i in range(start, end):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if text[i] == "," and depth == 0:
            return i
    return None


def _is_template(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return bool(re.match(r"\s*(?:template|#)", line))


def _other(operator: str) -> str:
    return operator[0] if len(operator) == 2 else f"{operator}="


def _operand_before(text: str, end: int) -> int:
    """The start of the left operand of the `&&` at `end`: behind `(`, `&&`, `||`, `?`, `=`, `,`, `;` or `return`."""
    depth = 0
    for i in range(end - 1, -1, -1):
        depth += (text[i] in ")]}") - (text[i] in "([{")
        stop = text[i] in "?,;" or text[i : i + 2] in ("&&", "||")
        assigned = text[i] == "=" and text[i - 1] not in "=!<>" and text[i + 1] != "="
        if depth < 0 or (depth == 0 and (stop or assigned)):
            return i + (2 if text[i : i + 2] in ("&&", "||") else 1)
        if depth == 0 and text[i : i + 7] == "return ":
            return i + 7
    return 0


def _operand_after(text: str, start: int) -> int:
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth < 0 or (depth == 0 and (text[i] in "?,;:" or text[i : i + 2] in ("&&", "||"))):
            return i
    return len(text)
