from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import KERNELS, OPS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with ops and kernels, in which commands run."""
    (tmp_path / "cli_ops.py").write_text(OPS)
    (tmp_path / "cli_kernels.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    for name in ("cli_ops", "cli_kernels"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path
