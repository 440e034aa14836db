from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r'^```python(?: title="(?P<title>[\w.]+)")?\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def blocks(page: Path) -> list[tuple[str, str]]:
    """File name and text of each titled Python block of a page; the others make up one program, in their order."""
    found = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    program = "\n\n".join(match["code"] for match in found if not match["title"])
    titled = [(match["title"], match["code"]) for match in found if match["title"]]
    return titled + ([("page_program.py", program)] if program else [])


def names(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=names)
def test_every_python_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    modules = []
    for name, code in blocks(page):
        (tmp_path / name).write_text(code, encoding="utf-8")
        modules.append(Path(name).stem)
    # pages import conformance before kernels, as a reader's pytest does through the plugin
    program = "import conformance\n" + "".join(f"import {module}\n" for module in modules)
    path = os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "examples" / "my_kernels"), *sys.path[1:]])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(prose):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_what_is_generated_in_the_pages_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "make_readme.py"), "--check"], capture_output=True, text=True, check=False,
        timeout=300, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
