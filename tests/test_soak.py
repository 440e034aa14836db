"""A soak runs kernels that are right for a time, counts, and keeps what it finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import strategies as kst
from conformance import Op, soak
from conformance.cli import FINDINGS, OK, main
from conformance.soak import Item
from conformance.trial import Trial

DOUBLE = Op(lambda x: x * 2, {"x": kst.tensors("n", dtypes=(torch.float32,))}, name="double")


def right(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def wrong(x: torch.Tensor) -> torch.Tensor:
    return x * 3


def interrupts(x: torch.Tensor) -> torch.Tensor:
    raise KeyboardInterrupt


def items(*kernels: object) -> list[Item]:
    return [Item(Trial(DOUBLE, kernel), None, "launch") for kernel in kernels]  # type: ignore[arg-type]


def run(*options: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["soak", "--minutes", "0.02", *options])
    return result.exit_code, result.output


def test_every_kernel_that_ships_is_soaked() -> None:
    names = {item.trial.name for item in soak.items()}
    assert {"kernels_triton.softmax.softmax", "kernels_cuda.rms_norm.rms_norm"} <= names
    assert {item.lane for item in soak.items()} >= {"launch", "determinism", "layouts"}


def test_right_kernels_give_counts_that_are_added_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "items", lambda: items(right))
    for _ in range(2):
        assert run("--seed", "5", "--json", str(tmp_path / "soak.json"))[0] == OK
    first, second = json.loads((tmp_path / "soak.json").read_text())
    assert first["examples"] > 0
    assert (first["findings"], second["seed"]) == (0, 5)


def test_a_finding_fails_the_soak_is_saved_and_is_not_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "items", lambda: items(wrong))
    code, output = run("--findings", str(tmp_path))
    assert code == FINDINGS
    assert "1 findings" in output
    assert len(list(tmp_path.iterdir())) == 1


def test_an_interrupt_keeps_the_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "items", lambda: items(interrupts))
    code, output = run("--json", str(tmp_path / "soak.json"))
    assert code == OK
    assert "interrupted" in output
    assert json.loads((tmp_path / "soak.json").read_text())[0]["interrupted"]


def test_ids_that_are_expected_to_fail_are_left_out() -> None:
    test = DOUBLE.conformance(wrong, oracles=["launch", "layouts"], xfail={"launch": "it triples"})
    assert [lane for _, lane in test.cases] == ["layouts"]  # type: ignore[attr-defined]
