from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.report import read_results

TESTS = """
import os, signal
import torch
import strategies as kst
from conformance import Op

double = Op(lambda x: 2 * x, inputs=dict(x=kst.tensors("n", dtypes=(torch.float32,))), name="double")


def off_by_one(x):
    return 2 * x + 1


def killed(x):
    os.kill(os.getpid(), signal.SIGKILL)


test_1 = double.conformance(off_by_one, oracles=["launch"])
test_2 = double.conformance(killed, oracles=["launch"])
"""


def test_results_in_a_folder_that_is_not_there_are_refused_before_any_test_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "conformance.plugin"]
    done = subprocess.run(
        [*command, "--conformance-json=no/such/results.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.endswith(
        "--conformance-json no/such/results.json: there is no folder no/such: make it first\n\n"
    )
    assert not (tmp_path / "no").exists()


def test_what_a_killed_worker_had_found_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "test_doubles.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-n1", "-p", "no:cacheprovider", "-p", "conformance.plugin"]
    done = subprocess.run(
        [*command, "--conformance-runtime=interpret", "--conformance-json=results.json", "--conformance-examples=5"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "crashed while running" in done.stdout, done.stdout + done.stderr
    (report,) = read_results(tmp_path / "results.json")
    assert report.kernel.endswith("off_by_one")
    assert report.findings
    assert len(list((tmp_path / ".conformance" / "findings").glob("*.json"))) == len(report.findings)
