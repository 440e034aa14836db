"""What the command prints of itself: help, lists, explanations, pages, benchmarks."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import OPS, ROOT, check, run

from conformance.cli import OK, UNUSABLE
from conformance.lanes import LANES
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


def test_an_op_of_ones_own_is_explained_with_its_lanes_and_bounds(folder: Path) -> None:
    result = run("explain", "cli_ops.py:double")
    assert result.exit_code == OK, result.output
    assert result.output.startswith("double(x[rows, cols])\n  dtypes       x float32\n")
    assert re.search(r"^  launch +Each launch keeps .*\n? +.*Judged by crash, bounds,", result.output, re.MULTILINE)
    assert "left out: the op declares no independent axis" in result.output
    assert "  any         median 0, largest 0.5\n" in result.output
    assert "conformance check FILE:KERNEL --op cli_ops.py:double" in result.output


def test_every_lane_is_explained() -> None:
    for lane in set(LANES) - set(ORACLES):
        result = run("explain", lane)
        assert result.exit_code == OK
        assert LANES[lane].law in result.output


def test_an_op_whose_reference_has_no_bound_says_why(folder: Path) -> None:
    (folder / "odd_ops.py").write_text(
        OPS.replace("lambda x: x * 2", "lambda x: torch.from_numpy(x.numpy() * 2)").replace('"double"', '"odd"')
    )
    sys.modules.pop("odd_ops", None)
    result = run("explain", "odd_ops.py:double")
    assert result.exit_code == OK, result.output
    assert "  none: no bound can be derived from the reference of odd" in result.output


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bound", "is no oracle, lane or op. There are\n  oracles  bounds, written"),
        ("bound", "FILE:NAME stands for an Op of yours"),
        ("cli_ops.py:reference", "is a function, not an Op: NAME = Op(reference=..., inputs=...); there is double"),
        ("cli_ops.py:nothing", "has no 'nothing'; it has double, reference"),
        ("nowhere.py:op", "there is no file nowhere.py"),
    ],
)
def test_what_cannot_be_explained_is_answered_by_what_can(name: str, words: str, folder: Path) -> None:
    result = run("explain", name)
    assert result.exit_code == UNUSABLE
    assert words in result.output


def test_list_has_ops_kernels_oracles_and_promises() -> None:
    result = run("list")
    assert result.exit_code == OK, result.output
    for word in ("softmax", "kernels_triton.softmax", "batch_invariance", "accumulator"):
        assert word in result.output


def test_the_kernels_are_those_that_can_be_checked() -> None:
    names = [line.split()[0] for line in run("list", "kernels").output.splitlines()[1:]]
    for package in ("kernels_triton", "kernels_cuda"):
        texts = {path.stem: path.read_text() for path in (ROOT / package).glob("*.py")}
        wanted = {
            f"{package}.{stem}"
            for stem, text in texts.items()
            if "@triton.jit" in text or (ROOT / package / f"{stem}.cu").is_file()
        }
        assert {name for name in names if name.startswith(package)} == wanted


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
