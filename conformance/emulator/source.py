"""CUDA source text: which kernels it has, and the one rewriting that the host compiler needs."""

from __future__ import annotations

import dataclasses
import pathlib
import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_QUALIFIED = r"(?:(?:static|inline|__launch_bounds__\s*\([^)]*\)|__cluster_dims__\s*\([^)]*\))\s*)*"
_KERNEL = re.compile(rf"__global__\s+{_QUALIFIED}void\s+{_QUALIFIED}(\w+)\s*\(")
_INSIDE = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # parentheses, three deep
_ALIGNED = rf"(?:__align__|alignas|__builtin_align__|__attribute__)\s*{_INSIDE}"
_PREFIX = rf"(?:(?:\b(?:volatile|const|static)\b|{_ALIGNED})\s*)*"
_DYNAMIC = re.compile(
    rf"(?:extern\s+({_PREFIX})__shared__|__shared__\s+extern)\s+({_PREFIX})([\w:\s]+?(?:<[^;<>]*>)?)\s*({_ALIGNED}\s*)?"
    rf"\b(\w+)\s*\[\s*\]((?:\s*\[[^\]]+\])*)\s*;"
)
_STATIC = re.compile(rf"(?<!extern )({_PREFIX})\b__shared__(\s+)([^;{{}}=()]*(?:{_INSIDE}[^;{{}}=()]*)*);")
_DECLARATOR = re.compile(r"\w+\s*(?:\[[^\]]*\]\s*)*$")
_LOOP = r"(?:\s|//[^\n]*\n|/\*.*?\*/)*\b(?:for|while|do)\b"
_UNROLL = re.compile(
    rf"^([ \t]*#[ \t]*pragma[ \t]+)unroll\b[ \t]*\(?[ \t]*(\d*)[^\n]*(?={_LOOP})",
    re.M | re.S,
)
_UNROLLED = 8  # iterations at most: with 16 the 4x4 products of a thread of a matmul take a third longer than with 8
_EXTERN_C = re.compile(r'extern\s+"C"')
# A kernel that is inline already, and templates: an explicit instantiation must not be, and the others are as it were.
_NOT_INLINE = re.compile(r"\b(?:inline|__forceinline__|template)\b")
_LINE = re.compile(r'^[ \t]*#[ \t]*line[ \t]+(\d+)(?:[ \t]+"([^"]+)")?[^\n]*$', re.M)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A `__global__` function in a source text, and the names of its parameters in order."""

    name: str
    parameters: tuple[str, ...]
    callable_by_name: bool  # declared extern "C"


def without_comments(text: str) -> str:
    """The text with each comment blanked out, lines kept."""
    return _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def place(text: str, at: int) -> tuple[str, int]:
    """The file and the line of a character of the text, by the `#line` before it; "" where none names a file.

    >>> place('#line 7 "add.cu"\\n\\nint i;', 18)
    ('add.cu', 8)
    """
    file, first, start = "", 1, 0
    for directive in _LINE.finditer(text, 0, at):
        file, first, start = directive[2] or file, int(directive[1]), directive.end() + 1
    return file, first + text.count("\n", start, at)


def kernels(text: str) -> tuple[Kernel, ...]:
    """The kernels that `text` defines or declares, in order, each once.

    >>> kernels('extern "C" __global__ void add(const float* __restrict__ x, int n) {}')
    (Kernel(name='add', parameters=('x', 'n'), callable_by_name=True),)
    """
    plain = without_comments(text)
    found: dict[str, Kernel] = {}
    for match in _KERNEL.finditer(plain):
        end = _closing(plain, match.end() - 1)
        names = tuple(_parameter_name(p) for p in _split(plain[match.end() : end]))
        by_name = _is_extern_c(plain, match.start())
        found.setdefault(match[1], Kernel(match[1], names, by_name))
    return tuple(found.values())


def rewritten(text: str) -> str:
    """The text as the host compiler takes it, lines kept.

    `extern __shared__ T s[]` becomes a pointer, since the host knows no array of unknown size there;
    `__shared__ T a[8], b[8]` two declarations, so that each array has its own red zone; and a kernel is inline, so that
    one which is not launched costs no time beyond its parsing.
    """
    text = _STATIC.sub(_one_declaration_each, _inline_kernels(text))
    return _DYNAMIC.sub(_dynamic, text)


def unrolled(text: str) -> str:
    """The text with `#pragma unroll` as g++ spells it, where a loop follows as g++ wants it, lines kept.

    The indices of an unrolled loop are constants, which need no check against the arrays of a thread.

    >>> unrolled("#pragma unroll\\nfor (;;) {}")
    '#pragma GCC unroll 8\\nfor (;;) {}'
    """
    return _UNROLL.sub(lambda m: f"{m[1]}GCC unroll {min(int(m[2] or _UNROLLED), _UNROLLED)}", text)


def included(text: str, folders: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of the files that `text` includes by quoted name and that lie in `folders`, and theirs in turn."""
    seen: dict[pathlib.Path, str] = {}
    waiting = [text]
    while waiting:
        for name in _INCLUDE.findall(waiting.pop()):
            for folder in folders:
                path = pathlib.Path(folder) / name
                if path not in seen and path.is_file():
                    seen[path] = path.read_text()
                    waiting.append(seen[path])
                    break
    return tuple(seen.values())


def _dynamic(match: re.Match[str]) -> str:
    before, after, kind, _, name, extents = match.groups()
    qualifiers = "".join(f"{word} " for word in ("volatile", "const") if word in f"{before}{after}".split())
    return f"EMU_DYNAMIC_SHARED({qualifiers}{kind.strip()}, {name}, {extents});"


def _one_declaration_each(match: re.Match[str]) -> str:
    # what stands before `__shared__` belongs to the array and not to its red zone
    prefix = re.sub(r"\bstatic\b\s*", "", match[1])
    start = f"__shared__{match[2]}{prefix}"
    declarators = _split(match[3])
    first = _DECLARATOR.search(declarators[0])
    if len(declarators) == 1 or first is None:
        return f"{start}{match[3]};"
    kind = declarators[0][: first.start()]
    return " ".join(f"{start}{d if i == 0 else kind + d.strip()};" for i, d in enumerate(declarators))


def _inline_kernels(text: str) -> str:
    plain = without_comments(text)
    parts, last = [], 0
    for match in re.finditer(r"\b__global__\b", plain):
        before = re.split(r"[;{}]", plain[: match.start()])[-1]
        after = re.split(r"[;{]", plain[match.end() :], maxsplit=1)[0]
        if not _NOT_INLINE.search(before + after):
            parts += [text[last : match.end()], " inline"]
            last = match.end()
    return "".join([*parts, text[last:]])


def _closing(text: str, start: int) -> int:
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return len(text)


def _split(parameters: str) -> list[str]:
    parts, depth = [""], 0
    for c in parameters:
        depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p for p in parts if p.strip()]


def _parameter_name(parameter: str) -> str:
    words = re.findall(r"\w+", parameter.partition("=")[0].partition("[")[0])
    return words[-1] if words else ""


def _is_extern_c(text: str, start: int) -> bool:
    """Whether the kernel at `start` is declared extern "C", alone or inside a block."""
    line = re.split(r"[;{}]", text[:start])[-1]
    if _EXTERN_C.search(line):
        return True
    for match in re.finditer(r'extern\s+"C"\s*\{', text[:start]):
        inside = text[match.end() : start]
        if inside.count("{") >= inside.count("}"):
            return True
    return False
