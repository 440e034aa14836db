"""A section of a page that a command makes, between two comments."""

from __future__ import annotations

from pathlib import Path


def put(page: str | Path, name: str, text: str) -> None:
    """Put the text between the comments `begin:NAME` and `end:NAME` of a page; at the end of one that has none yet.

    Raises:
        ValueError: the page has one of the comments alone.
    """
    path = Path(page)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    begin, end = f"<!-- begin:{name} -->", f"<!-- end:{name} -->"
    block = f"{begin}\n{text.strip()}\n{end}"
    if (begin in before) != (end in before):
        raise ValueError(f"{path} has one of {begin} and {end} alone")
    if begin in before:
        head, rest = before.split(begin, 1)
        after = f"{head}{block}{rest.split(end, 1)[1]}"
    else:
        after = f"{before.rstrip()}\n\n{block}\n".lstrip()
    path.write_text(after, encoding="utf-8")
