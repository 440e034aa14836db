"""An interrupt and the end of a time may come together: it is the interrupt that counts."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import strategies as kst
from conformance import Op, case, check
from conformance.watchdog import Deadline, HangError, LauncherHang, Watchdog

DOUBLE = Op(lambda x: x * 2, {"x": kst.tensors("n", dtypes=(torch.float32,))}, name="double")


@pytest.mark.parametrize("overtaking", [LauncherHang, ValueError])
def test_an_interrupt_that_another_error_overtakes_is_an_interrupt(overtaking: type[Exception]) -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        try:
            raise KeyboardInterrupt
        finally:
            raise overtaking("while the frames are left")

    report = check(kernel, DOUBLE, examples=5, oracles=["launch"])
    assert report.interrupted
    assert report.findings == []


def test_an_error_of_the_watchdog_on_the_way_out_of_its_block_is_the_interrupt() -> None:
    watchdog = Watchdog(LauncherHang)

    def block() -> None:
        with watchdog.watch(60):
            try:
                raise KeyboardInterrupt
            finally:
                raise LauncherHang

    with pytest.raises(KeyboardInterrupt):
        block()


def test_an_error_of_the_watchdog_ends_a_block_that_goes_on() -> None:
    watchdog = Watchdog()

    def block() -> None:
        with watchdog.watch(60):
            watchdog.deadline = Deadline(-1.0)
            watchdog.look()
            while True:
                pass

    with pytest.raises(HangError):
        block()


def test_an_interrupt_while_a_finding_is_simplified_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(case, "_simplify", interrupt)
    report = check(lambda x: x * 3, DOUBLE, examples=5, oracles=["launch"])
    assert report.interrupted
    assert [finding.oracle for finding in report.findings] == ["accuracy"]


def test_a_traced_function_runs_after_a_block_that_was_ended() -> None:
    # on CPython 3.11 a mark that an error waits, and no error, would keep a traced function at its first instruction
    script = """
import sys
from conformance.watchdog import Deadline, HangError, Watchdog
watchdog = Watchdog()
try:
    with watchdog.watch(60):
        watchdog.deadline = Deadline(-1.0)
        watchdog.look()
        while True:
            pass
except HangError:
    pass
sys.settrace(lambda *_: None)
(lambda: None)()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
