"""Mutants that change nothing that a caller can see, reviewed by hand, each with the reason."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable
from pathlib import Path

from conformance.mutation.mutant import Mutant

RECORD = Path(__file__).with_suffix(".json")


def load(path: Path = RECORD) -> dict[str, dict[str, str]]:
    """File name of the kernel's source to edit to reason; an edit is spelled as `keys` does.

    Raises:
        ValueError: an edit has no reason.
    """
    found: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    for file, edits in found.items():
        for edit, reason in edits.items():
            if not reason.strip():
                raise ValueError(f"{path}: {file}: {edit!r} has no reason")
    return found


def keys(source: Path, mutants: Iterable[Mutant]) -> dict[Mutant, tuple[str, str]]:
    """What each mutant of a source is recorded under: the file, and the edit with the text of its line but not the
    number; of equal edits of equal lines the second is ` #2`, and so on.

    >>> found = keys(Path("kernels/add.py"), [Mutant("drop", 1, "a & b", "a", "x = a\\n")])
    >>> list(found.values())
    [('kernels/add.py', 'x = a | drop: a & b -> a')]
    """
    seen: collections.Counter[str] = collections.Counter()
    found = {}
    for mutant in mutants:
        line = mutant.text.splitlines()[mutant.line - 1].strip() if mutant.text.splitlines() else ""
        edit = f"{line} | {mutant.kind}: {' '.join(mutant.before.split())} -> {' '.join(mutant.after.split())}"
        seen[edit] += 1
        found[mutant] = (
            f"{source.parent.name}/{source.name}",
            edit + (f" #{seen[edit]}" if seen[edit] > 1 else ""),
        )
    return found
