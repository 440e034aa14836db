"""Another package in the place of `strategies`, a name that other projects use as well."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def check() -> None:
    """Nothing, where `strategies` is the package that was installed with this one.

    Raises:
        ImportError: Python finds another one first; the message says where it lies.
    """
    ours = Path(__file__).resolve().parents[1] / "strategies" / "__init__.py"
    spec = importlib.util.find_spec("strategies")
    found = None if spec is None else spec.origin
    if found is None or Path(found).resolve() == ours:
        return
    raise ImportError(
        f"`strategies` is {found} here, not the package of triton-conformance ({ours.parent}): rename the former, or "
        "run from another folder, with `pytest` in place of `python -m pytest`"
    )
