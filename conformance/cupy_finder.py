"""Lets `import cupy` find the stand-in where there is no CUDA device, without loading anything before that."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        from conformance.emulator.cupy_module import install_cupy  # the emulator is loaded by its first user

        install_cupy()
        return sys.modules["cupy"]

    def exec_module(self, module: ModuleType) -> None:
        """The stand-in is complete when it is made."""


class CupyFinder(importlib.abc.MetaPathFinder):
    """Answers for `cupy` and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of the stand-in."""
        return importlib.machinery.ModuleSpec(fullname, _Loader()) if fullname == "cupy" else None


def install() -> None:
    """Put the finder first, once; a CuPy that is imported already stays."""
    if not any(isinstance(finder, CupyFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, CupyFinder())
