"""The rules of the tree: who imports whom, how large a module may grow, what may not stand in it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("strategies", "kernels_triton", "kernels_cuda", "conformance")
MODULES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
KERNELS = {"kernels_triton", "kernels_cuda"}


def imported(path):
    """The top-level packages that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
    return found


def allowed(path):
    """Which of our packages a module may import."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "conformance":
        return {parts[0]}
    binds = parts[1] in ("faults", "bench", "cli.py") or parts[1].startswith("test_")
    return {"conformance", "strategies"} | (KERNELS if binds else set())


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_the_layers_below_it(path):
    assert imported(path) & set(PACKAGES) <= allowed(path)


def test_kernels_and_strategies_need_no_test_tool():
    for path in MODULES:
        package = path.relative_to(ROOT).parts[0]
        if package in KERNELS:
            assert not imported(path) & {"pytest", "hypothesis"}, path
        if package == "strategies":
            assert not imported(path) & {"pytest", "triton"}, path


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_is_one_noun_long(path):
    assert len(path.read_text().splitlines()) <= 420


def test_no_tolerance_is_typed():
    pattern = re.compile(r"\b(atol|rtol)\s*=\s*[0-9]")
    found = [p for p in MODULES if pattern.search(p.read_text()) and "rival" not in p.name]

    assert found == []


def test_strategies_draw_right_instead_of_filtering():
    pattern = re.compile(r"\.filter\(|\bassume\(")
    found = [p for p in MODULES if p.parts[len(ROOT.parts)] == "strategies" and pattern.search(p.read_text())]

    assert found == []


def test_package_files_are_imports_and_names():
    for path in MODULES:
        if path.name != "__init__.py":
            continue
        for node in ast.parse(path.read_text()).body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.Call))
            assert docstring or isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)), path


def test_no_tracked_text_names_a_place_of_one_machine():
    pattern = re.compile(r"(?<![\w.])/(work|root|home)/[a-z.]|/tmp/[a-z0-9]|py[p]i\.org|python[h]osted")
    for path in ROOT.rglob("*"):
        if path.suffix not in {".py", ".md", ".toml", ".ini", ".cu", ".h", ".cpp", ".yml", ".html"}:
            continue
        made = {".tox", ".git", "site", ".ci", ".conformance"}
        if path == Path(__file__) or not made.isdisjoint(path.relative_to(ROOT).parts):
            continue
        assert not pattern.search(path.read_text()), path
