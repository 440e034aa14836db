"""A soak runs kernels that are right for a time, counts, and keeps what it finds."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import strategies as kst
from conformance import Op, soak
from conformance.cli import FINDINGS, OK, main
from conformance.soak import Item, Soak
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
    result = CliRunner().invoke(main, ["soak", "--minutes", "0.02", "--jobs", "1", *options])
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


def counts(parent: Connection, kind: object, seconds: float, seed: int, examples: int) -> None:
    parent.send(("an id", Soak(seed, items=3, examples=7)))
    parent.send(Soak(seed, items=3, examples=examples, rounds=2))


def leaves(parent: Connection, kind: object, seconds: float, seed: int, examples: int) -> None:
    parent.send(("an id", Soak(seed, items=3, examples=7)))
    os._exit(5)


def waits_to_be_stopped(parent: Connection, kind: object, seconds: float, seed: int, examples: int) -> None:
    parent.send(("an id", Soak(seed, items=3, examples=7)))
    parent.recv()
    parent.send(Soak(seed, items=3, examples=8, interrupted=True))


def test_processes_side_by_side_have_seeds_of_their_own_and_are_counted_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(soak, "_serve", counts)
    done = soak.soak_in_parallel(1.0, 2, seed=5, examples=25, progress=lambda at, so_far: told.append(at))
    assert (done.seed, done.items, done.examples, done.rounds, done.jobs) == (5, 3, 50, 4, 2)
    assert (done.lost, done.interrupted) == ([], False)
    assert told == ["an id"] * 2


def test_a_process_that_ends_is_named_with_what_it_had_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "_serve", leaves)
    done = soak.soak_in_parallel(1.0, 1, seed=5)
    assert done.examples == 7
    assert done.lost == ["a process ended with status 5 in an id"]


def test_an_interrupt_asks_the_processes_to_stop_and_keeps_their_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(at: str, so_far: Soak) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(soak, "_serve", waits_to_be_stopped)
    done = soak.soak_in_parallel(60.0, 1, seed=5, progress=interrupt)
    assert (done.examples, done.interrupted, done.lost) == (8, True, [])


def is_asked_and_leaves(parent: Connection, kind: object, seconds: float, seed: int, examples: int) -> None:
    parent.send(("an id", Soak(seed, items=3, examples=7)))
    parent.recv()
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_process_that_ends_once_it_is_asked_to_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(at: str, so_far: Soak) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(soak, "_serve", is_asked_and_leaves)
    done = soak.soak_in_parallel(60.0, 1, seed=5, progress=interrupt)
    assert (done.examples, done.interrupted, done.lost) == (7, True, [])


def interrupts_itself(parent: Connection, kind: object, seconds: float, seed: int, examples: int) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    parent.send(Soak(seed, items=3, examples=7))


def test_ctrl_c_reaches_the_one_that_started_the_processes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "_serve", interrupts_itself)
    done = soak.soak_in_parallel(60.0, 1, seed=5)
    assert (done.examples, done.interrupted, done.lost) == (7, False, [])


def test_what_is_soaked_and_from_which_seed_is_said_before_anything_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "items", lambda: items(interrupts))
    result = CliRunner().invoke(main, ["soak", "--minutes", "0.1", "--jobs", "1", "--seed", "5"])
    assert result.stderr.startswith("soaking for 0.1 minutes in 1 process, from seed 5\n")


def test_a_process_sends_what_it_counted_and_stops_when_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "items", lambda: items(right))
    handler = signal.getsignal(signal.SIGTERM)
    ours, theirs = multiprocessing.Pipe()
    ours.send("stop")
    try:
        soak._serve(theirs, ("interpret", False), 60.0, 5, 10)
    finally:
        signal.signal(signal.SIGTERM, handler)
    name, so_far = ours.recv()
    assert (name.rpartition("[")[2], so_far.seed) == ("any-launch]", 5)
    assert ours.recv().interrupted


def test_ids_that_are_expected_to_fail_are_left_out() -> None:
    test = DOUBLE.conformance(wrong, oracles=["launch", "layouts"], xfail={"launch": "it triples"})
    assert [lane for _, lane in test.cases] == ["layouts"]  # type: ignore[attr-defined]
