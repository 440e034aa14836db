"""Mutants that change nothing that a caller can see, reviewed by hand, each with the reason."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.mutation.mutant import Mutant

RECORD = Path(__file__).with_suffix(".json")


def load(path: Path = RECORD) -> dict[str, dict[str, str]]:
    """File name of the kernel's source to edit to reason; an edit is spelled as `key` does.

    Raises:
        ValueError: an edit has no reason.
    """
    found: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    for file, edits in found.items():
        for edit, reason in edits.items():
            if not reason.strip():
                raise ValueError(f"{path}: {file}: {edit!r} has no reason")
    return found


def key(source: Path, mutant: Mutant) -> tuple[str, str]:
    """What an equivalent is recorded under: the file, and the edit with the text of its line but not the number.

    >>> key(Path("kernels/add.py"), Mutant("drop", 1, "a & b", "a", "x = a\\n"))
    ('kernels/add.py', 'x = a | drop: a & b -> a')
    """
    line = mutant.text.splitlines()[mutant.line - 1].strip() if mutant.text.splitlines() else ""
    before = " ".join(mutant.before.split())
    return (
        f"{source.parent.name}/{source.name}",
        f"{line} | {mutant.kind}: {before} -> {' '.join(mutant.after.split())}",
    )


def reason(source: Path, mutant: Mutant, record: dict[str, dict[str, str]]) -> str | None:
    """Why the mutant is equivalent, None where it is not recorded."""
    file, edit = key(source, mutant)
    return record.get(file, {}).get(edit)
