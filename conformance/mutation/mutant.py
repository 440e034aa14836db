"""One edit of a source text."""

from __future__ import annotations

import dataclasses
import hashlib


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A source text that differs from the original in one place: `before` became `after` on `line`.

    The text has as many lines as the original, so that reports name the real ones.
    """

    kind: str
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.kind}: `{self.before}` -> `{self.after}`"


def edit(text: str, kind: str, start: int, end: int, after: str) -> Mutant:
    """The mutant in which `text[start:end]` is replaced by `after`, filled up with empty lines to the same length.

    >>> edit("a +\\nb", "drop", 0, 5, "b").text
    'b\\n'
    """
    before = text[start:end]
    filled = after + "\n" * (before.count("\n") - after.count("\n"))
    return Mutant(kind, text.count("\n", 0, start) + 1, before, after, text[:start] + filled + text[end:])


def digest(mutant: Mutant) -> str:
    """A name of the mutant's text, under which its verdict is remembered."""
    return hashlib.sha256(mutant.text.encode()).hexdigest()[:16]
