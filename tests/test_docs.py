from __future__ import annotations

import functools
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


# Pages run in processes forked from one that has imported torch and Triton, which takes longer than most pages; they
# import conformance before kernels, as a reader's pytest does through the plugin.
DRIVER = """
import os, sys, traceback
import conformance, triton
for folder in sys.argv[1:]:
    if not (child := os.fork()):
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            for module in open("order").read().split():
                __import__(module)
        except BaseException:
            open("error", "w").write(traceback.format_exc())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    open(folder + "/status", "w").write(str(status))
"""


@functools.cache
def results(base: Path) -> dict[Path, str]:
    """What went wrong in each page that has Python blocks, "" where nothing did."""
    folders = {}
    for number, page in enumerate(page for page in PAGES if blocks(page)):
        folders[page] = base / str(number)
        folders[page].mkdir()
        for name, code in blocks(page):
            (folders[page] / name).write_text(code, encoding="utf-8")
        (folders[page] / "order").write_text(" ".join(Path(name).stem for name, _ in blocks(page)))
    path = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "my_kernels"), *sys.path[1:]])
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *map(str, folders.values())], capture_output=True, text=True, check=False,
        timeout=600, env={**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {page: _result(folder) for page, folder in folders.items()}


def _result(folder: Path) -> str:
    error = folder / "error"
    status = (folder / "status").read_text()
    return error.read_text() if error.exists() else "" if status == "0" else f"ended with status {status}"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=names)
def test_every_python_block_of_a_page_runs(page: Path, base: Path) -> None:
    assert not results(base)[page], results(base)[page]


def test_the_id_that_the_readme_names_is_one_of_the_test_in_it() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"where the op has one dtype, as\s+above, it is `(test_softmax\[[\w-]+\])`", readme)
    show = "print([f'test_softmax[{mark.id}]' for mark in test_softmax.pytestmark[0].args[1]])"
    program = blocks(ROOT / "README.md")[-1][1] + "\n" + show
    path = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "my_kernels"), *sys.path[1:]])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True,
        check=True, timeout=300, env={**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": "1"},
    )  # fmt: skip
    assert named in done.stdout


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
