"""Progress of a command whose standard error is no terminal."""

from __future__ import annotations

import types

import pytest

from conformance.session import Session


def test_lines_of_progress_come_soon_and_then_ever_later(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(121))
    monkeypatch.setattr("conformance.session.time", types.SimpleNamespace(monotonic=lambda: float(next(clock))))
    session = Session()
    for second in range(1, 121):
        session.progress("float16-launch", 100 * second)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "5 s: float16-launch, 500 examples"
    assert [line.partition(" s: ")[0] for line in lines] == ["5", "10", "20", "40", "70", "100"]
