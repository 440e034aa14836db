"""The example project, installed into a fresh environment as its README says, and tested there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import resource
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "my_kernels"
FIRST_FINDING_SECONDS = 15  # of processor time: what a new user waits for on an idle core

pytestmark = pytest.mark.slow


def installed(name: str) -> bool:
    """Whether this environment has the distribution, and so its pytest plugin."""
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with a fresh environment that borrows torch, Triton and the suite from this one."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(EXAMPLE, folder / "my_kernels", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    venv.create(folder / "environment", with_pip=True)
    (site,) = (folder / "environment").glob("lib/python*/site-packages")
    # torch is gigabytes: the environment sees that of this one, and its .pth files, which an editable install has
    borrowed = sysconfig.get_path("purelib")
    (site / "borrowed.pth").write_text(f"import site; site.addsitedir({borrowed!r})\n{ROOT}\n")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    command = ["-m", "pip", "install", "--quiet", "--no-deps", *isolation, "./my_kernels"]
    done = run(folder, folder, command)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(project: Path, where: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """The result of a Python command in the project's environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(project / "environment" / "bin" / "python"), *command], cwd=where, capture_output=True, text=True,
        check=False, timeout=600, env={**environment, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


def pytest_run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    plugin = [] if installed("triton-conformance") else ["-p", "conformance.plugin"]
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *options]
    return run(project, project / "my_kernels", command)


def test_the_package_is_the_installed_one_with_its_cuda_source(project: Path) -> None:
    done = run(project, project, ["-c", "import my_kernels.scale as s; print(s.SOURCE.is_file(), s.SOURCE)"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"True {project / 'environment'}")


def test_the_faulty_kernel_gives_a_finding_in_seconds(project: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = pytest_run(project, "tests/faulty.py", "-k", "float32-launch")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "oracle  bounds" in done.stdout
    assert "x = tl.load(x_ptr + row * stride + cols)  # a row has n_cols, not BLOCK" in done.stdout
    assert "a load without a mask" in done.stdout
    assert after.ru_utime - before.ru_utime < FIRST_FINDING_SECONDS


def test_the_repaired_kernel_and_the_cuda_kernel_pass(project: Path) -> None:
    done = pytest_run(project, "--conformance-examples", "10")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_line_of_its_readme_finds_the_fault(project: Path) -> None:
    command = ["-m", "conformance", "check", "my_kernels/softmax.py:softmax_first", "--op", "softmax"]
    done = run(
        project, project / "my_kernels", [*command, "--dtype", "float32", "--oracle", "launch", "--examples", "20"]
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "oracle  bounds" in done.stdout
