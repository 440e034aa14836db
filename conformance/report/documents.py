"""JSON documents on disk: results files and saved findings, checked against schema.json when they are read."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

SCHEMA = 1


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of results files and of saved findings."""
    text = Path(__file__).with_name("schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def missing_folder(path: str | Path) -> str:
    """Which folder has to be made before the file can be written, in a sentence; "" where none has.

    >>> missing_folder("results.json"), missing_folder("no_such/results.json")
    ('', 'there is no folder no_such: make it first')
    """
    folder = Path(path).parent
    return "" if folder.is_dir() else f"there is no folder {folder}: make it first"


def write_json(path: str | Path, document: Any) -> Path:
    """The path, after the document was written there as `write_text` does it."""
    return write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def write_text(path: str | Path, text: str) -> Path:
    """The path, after the text was written there as a whole or not at all.

    The text goes to a file beside it that then takes its name, so that a reader, or a second worker that writes the
    same finding, never sees half a document. A link stays one: the file that it names is replaced. A device or a pipe
    is written to, and so is what /dev/stdout stands for.

    Raises:
        OSError: it cannot be written; the error names the path that was asked for. No folder is made for it.
    """
    path = Path(path)
    if missing := missing_folder(path):
        raise FileNotFoundError(errno.ENOENT, missing, str(path))
    try:
        if (path.exists() and not path.is_file()) or str(path.parent) in ("/dev", "/dev/fd", "/proc/self/fd"):
            with path.open("a", encoding="utf-8") as stream:  # keeps what standard output wrote to a file before
                stream.write(text)
        else:
            _replace(path.resolve(), text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return path


def _replace(target: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).chmod(0o644)  # mkstemp makes a file that only its owner reads
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_document(path: str | Path, content: str) -> dict[str, Any]:
    """The JSON document in a file, checked against the schema; `content` is `reports` or `finding`.

    Raises ValueError with what is wrong for a file that is no JSON, of another version, or against the schema.
    """
    import jsonschema  # type: ignore[import-untyped]  # here: 0.1 s that only reading needs

    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no JSON file: {error}") from error
    if not isinstance(document, dict) or content not in document:
        wanted = "a results file (conformance check --json)" if content == "reports" else "a saved finding"
        raise ValueError(f"{path} is not {wanted}: it has no {content!r} at the top level")
    if document.get("schema") != SCHEMA:
        raise ValueError(
            f"{path} is written in schema {document.get('schema')!r}; this version of triton-conformance reads {SCHEMA}"
        )
    validator = jsonschema.Draft202012Validator(schema())
    best = jsonschema.exceptions.best_match(validator.iter_errors(document))
    if best is not None:
        raise ValueError(f"{path} does not follow the schema at {best.json_path}: {best.message}")
    return document
