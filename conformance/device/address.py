"""Where an object of a module is found, so that another process can import the same."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any


class NotImportable(Exception):
    """An object is no attribute of an importable module; the message says what to do."""


@dataclasses.dataclass(frozen=True)
class Address:
    """The module of an object (and its file, for modules that were loaded from a path), and its name there."""

    module: str
    file: str | None
    name: str

    def load(self) -> Any:
        """The object. Raises what the import of its module raises, AttributeError where it has no such name."""
        found: Any = _module(self.module, self.file)
        for part in self.name.split("."):
            found = getattr(found, part)
        return found


def find(wanted: Any, what: str) -> Address:
    """The address of an object, found by its own name or else by searching the modules that are loaded.

    Raises:
        NotImportable: it is a lambda, a closure, a partial, or defined inside a function, and no module holds it.
    """
    own = getattr(wanted, "__module__", None)
    name = getattr(wanted, "__qualname__", None)
    if isinstance(own, str) and isinstance(name, str) and "<" not in name:
        module = sys.modules.get(own)
        if module is not None and _attribute(module, name) is wanted:
            return _address(module, name)
    for module in list(sys.modules.values()):
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if value is wanted:
                return _address(module, attribute)
    raise NotImportable(
        f"{what} {wanted!r} cannot be found by another process: assign it to a name at the top level of a module"
    )


def _attribute(module: ModuleType, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _address(module: ModuleType, name: str) -> Address:
    file = getattr(module, "__file__", None)
    if module.__name__ == "__main__" and file is None:
        raise NotImportable(f"{name} is defined in an interactive session: write it to a file")
    return Address(module.__name__, file, name)


def _module(name: str, file: str | None) -> ModuleType:
    if name == "__main__":
        name = "__conformance_main__"  # a program's guard of `__main__` must not run it again
    known = sys.modules.get(name)
    if known is not None:
        return known
    if name != "__conformance_main__":
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
        else:
            if file is None or getattr(module, "__file__", None) == file:
                return module
    if file is None:
        raise ModuleNotFoundError(f"there is no module {name} here", name=name)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
