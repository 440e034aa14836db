"""`conformance doctor`: what is here, and what shadows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ROOT, run

from conformance.cli import OK, UNUSABLE


def test_doctor_says_what_is_here_and_what_is_skipped(folder: Path) -> None:
    result = run("doctor")
    assert result.exit_code == OK, result.output
    assert "torch" in result.output
    assert "kipped here" in result.output


def test_doctor_sees_a_second_package_of_our_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "strategies").mkdir()
    (folder / "strategies/__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(folder))
    result = run("doctor")
    assert result.exit_code == UNUSABLE
    assert "package strategies" in result.output


def test_doctor_takes_the_command_for_no_second_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "conformance").write_text("#!/usr/bin/env python\n")
    monkeypatch.syspath_prepend(str(folder))
    assert "package conformance" not in run("doctor").output


def test_another_package_in_the_place_of_ours_is_named(folder: Path) -> None:
    (folder / "strategies.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", "import conformance"], capture_output=True, text=True, check=False, timeout=120,
        cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), *sys.path[1:]])},
    )  # fmt: skip
    assert f"`strategies` is {folder / 'strategies.py'} here, not the package of triton-conformance" in done.stderr


def test_doctor_names_the_repairs_of_the_interpreter_and_the_tools_of_the_emulator(folder: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device, so nothing is interpreted")
    output = run("doctor").output
    assert re.search(r"interpreter +ours; repairs in force: arithmetic, .*truth", output)
    assert re.search(r"emulator +.*(g\+\+|clang)", output)
    assert re.search(r"fence +not needed", output)


def test_doctor_says_that_cuda_kernels_are_skipped_without_a_compiler(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conformance.emulator import toolchain

    monkeypatch.setenv("CONFORMANCE_CXX", "no-such-compiler")
    toolchain.compiler.cache_clear()
    result = run("doctor")
    toolchain.compiler.cache_clear()
    assert "$CONFORMANCE_CXX names 'no-such-compiler', which is not on the path" in result.output
