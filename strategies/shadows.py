"""Shadows: other packages that are called `strategies` or `conformance`, of which Python imports only one.

Both names are common, and importing the wrong package is silent: what fails later is an attribute. So importing this
module looks for a second one.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence

# each name with a module that only our package of that name has: a second copy of ours (a checkout beside an installed
# one) is no stranger
_OURS = {"strategies": "shadows.py", "conformance": "observation.py"}


def strangers(path: Iterable[str], home: str) -> list[tuple[str, str, bool]]:
    """Other packages and modules with one of our names on an import `path`: name, file, and whether they hide ours.

    `home` is the folder that our packages lie in. Folders without `__init__.py` do not count: any package goes before
    them, whatever the order.
    """
    found = []
    for name, mark in _OURS.items():
        ours_first = False
        for entry in dict.fromkeys(os.path.realpath(entry or os.curdir) for entry in path):
            package = os.path.join(entry, name, "__init__.py")
            module = os.path.join(entry, name + ".py")
            if entry == home or os.path.exists(os.path.join(entry, name, mark)):
                ours_first = True
            elif os.path.exists(package):
                found.append((name, package, not ours_first))
            elif os.path.exists(module):
                found.append((name, module, not ours_first))
    return found


def check(path: Sequence[str] | None = None) -> None:
    """Nothing, where our packages are the only ones of their names on the import path (`sys.path` if not given).

    Raises ImportError for a package that Python finds before ours, and warns of one that ours hides.
    """
    home = os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir))
    for name, file, hides in strangers(sys.path if path is None else path, home):
        if hides:
            raise ImportError(
                f"{file} hides the package {name!r} of triton-conformance in {home}: rename it, or take its folder off "
                "the import path (PYTHONPATH, or the folder that Python was started in)"
            )
        warnings.warn(
            f"the package {name!r} of triton-conformance in {home} hides {file}: `import {name}` never gives that one",
            RuntimeWarning,
            stacklevel=2,
        )


check()
