"""Compares a text with the one that is kept in snapshots/."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("snapshots")
UPDATE = "CONFORMANCE_UPDATE_SNAPSHOTS"


def compare(name: str, text: str) -> None:
    """Assert that the text is the kept one; with CONFORMANCE_UPDATE_SNAPSHOTS=1 keep this one instead."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"no snapshot {path.name}: run once with {UPDATE}=1 and read what it writes"
    kept = path.read_text(encoding="utf-8")
    assert text == kept, f"{path.name} differs; if the new text is better, run with {UPDATE}=1 and read the diff"
