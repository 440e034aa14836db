"""What the command prints of itself: help, lists, explanations, pages, benchmarks."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ROOT, check, run

from conformance.cli import OK, UNUSABLE
from conformance.report.explanations import ORACLES


def test_results_become_a_page(folder: Path) -> None:
    check("wrong", "--json", "one.json")
    check("right", "--json", "two.json")
    result = run("report", "one.json", "two.json", "-o", "out.html")
    assert result.exit_code == OK
    assert "out.html: 2 reports" in result.output
    assert "one.md: 1 report\n" in run("report", "one.json", "-o", "one.md").output
    assert " over 1 kernel in " in (folder / "one.md").read_text()
    page = (folder / "out.html").read_text()
    assert "cli_kernels.wrong" in page
    assert "cli_kernels.right" in page


@pytest.mark.parametrize(
    "command",
    [
        ("report", "one.json", "-o", "no/such/out"),
        ("check", "cli_kernels.py:right", "--op", "cli_ops.py:double", "--json", "no/such/out"),
        ("mutate", "cli_kernels.py:right", "--op", "cli_ops.py:double", "--json", "no/such/out"),
        ("soak", "--json", "no/such/out"),
        ("bench", "numerics", "--json", "no/such/out"),
    ],
    ids=lambda command: command[0],
)
def test_an_output_in_a_folder_that_is_not_there_is_refused_before_anything_runs(
    command: tuple[str, ...], folder: Path
) -> None:
    (folder / "one.json").write_text('{"schema": 1, "reports": []}')
    result = run(*command)
    assert result.exit_code == UNUSABLE
    assert result.output == "Error: no/such/out: there is no folder no/such: make it first\n"
    assert not (folder / "no").exists()


def test_every_oracle_is_explained() -> None:
    for oracle in ORACLES:
        result = run("explain", oracle)
        assert result.exit_code == OK
        assert "Repair" in result.output


def test_an_op_is_explained() -> None:
    result = run("explain", "softmax")
    assert result.exit_code == OK, result.output
    assert "torch.softmax" in result.output


def test_an_unknown_name_is_explained_by_what_there_is() -> None:
    result = run("explain", "bound")
    assert result.exit_code == UNUSABLE
    assert "bounds" in result.output


def test_list_has_ops_kernels_oracles_and_promises() -> None:
    result = run("list")
    assert result.exit_code == OK, result.output
    for word in ("softmax", "kernels_triton.softmax", "batch_invariance", "accumulator"):
        assert word in result.output


def test_a_reader_that_stops_is_no_error(folder: Path) -> None:
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m conformance list | head -1", shell=True, capture_output=True, text=True,
        check=False, timeout=120, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
    )  # fmt: skip
    assert done.stdout == "ops\n"
    assert "roken pipe" not in done.stderr


def test_a_benchmark_writes_its_figures_and_says_where_it_cannot_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from conformance.bench import numerics

    calls: list[tuple[str | None, int]] = []
    monkeypatch.setattr(numerics, "main", lambda json_path, launches=0: calls.append((json_path, launches)))
    assert run("bench", "numerics", "--json", "x.json", "--launches", "7").exit_code == OK
    assert calls == [("x.json", 7)]
    wrong = run("bench", "emulator", "--launches", "7")
    assert wrong.exit_code == UNUSABLE
    assert "--launches is an option of `conformance bench numerics`" in wrong.output
    wrong = run("bench", "numerics", "--peers")
    assert wrong.exit_code == UNUSABLE
    assert "--peers is an option of `conformance bench detection`" in wrong.output
    if not torch.cuda.is_available():
        result = run("bench", "gpu")
        assert result.exit_code == UNUSABLE
        assert "torch sees none" in result.output
    monkeypatch.setattr("importlib.import_module", _missing)
    result = run("bench", "detection")
    assert result.exit_code == UNUSABLE
    assert "the benchmark detection is not part of this version" in result.output


def _missing(name: str) -> None:
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_help_shows_how_a_kernel_is_checked() -> None:
    assert "conformance check my_kernels.py:softmax --op softmax" in run("--help").output
