"""The benchmark of detection: what counts as a fault caught, and what the others are given."""

from __future__ import annotations

import itertools
import os
import sys

import pytest
import torch

from conformance.bench import detection, detection_page, peers
from conformance.bench.attempts import Attempt, attempt
from conformance.bench.rival_regimes import REGIMES, Regime
from conformance.faults import Fault
from conformance.ops import vector_add


def fault(kernel, fixed=torch.add):
    return Fault("plain", vector_add, kernel, fixed, ("accuracy",), "LOGIC", "")


def off_by_one(x, y):
    return x + y + 1


def dies(x, y):
    os._exit(3)


def raises(x, y):
    raise ValueError("not for these sizes")


def close(got, expected, arguments):
    return torch.equal(got, expected)


def listed(*names):
    """A regime with one call for each test."""
    arguments = {"x": torch.ones(3), "y": torch.ones(3)}
    return Regime("listed", lambda op, promises, spent: ((name, dict(arguments)) for name in names), close)


@pytest.mark.parametrize("kernel", [off_by_one, dies, raises])
def test_a_fault_is_caught_where_the_kernel_is_wrong_raises_or_ends_its_process(kernel):
    tried = attempt(listed("a"), fault(kernel), budget=1.0)

    assert tried.caught
    assert not tried.alarm


def test_nothing_is_caught_where_the_tests_pass():
    assert attempt(listed("a", "b"), fault(torch.add), budget=1.0) == Attempt(False, False, pytest.approx(0, abs=5))


def test_a_test_that_fails_on_the_twin_is_taken_out_and_the_others_count():
    def calls(op, promises, spent):
        x = torch.ones(3)
        yield "alarm", {"x": x, "y": x + 1}
        yield "right", {"x": x, "y": x}

    def alarming(got, expected, arguments):
        return torch.equal(got, expected) and torch.equal(arguments["x"], arguments["y"])

    tried = attempt(Regime("alarming", calls, alarming), fault(off_by_one), budget=1.0)
    first = Regime("first", lambda *given: itertools.islice(calls(*given), 1), alarming)
    alone = attempt(first, fault(off_by_one), budget=1.0)

    assert (tried.caught, tried.alarm) == (True, True)
    assert (alone.caught, alone.alarm) == (False, True)


def test_draws_end_when_the_seconds_are_spent():
    def calls(op, promises, spent):
        while not spent():
            yield "drawn", {"x": torch.ones(3), "y": torch.ones(3)}

    tried = attempt(Regime("drawn", calls, close), fault(torch.add), budget=0.5)

    assert not tried.caught
    assert tried.seconds >= 0.5


def test_a_regime_that_is_broken_itself_is_an_error(capfd):
    with pytest.raises(RuntimeError, match="broken does not run on plain"):
        attempt(Regime("broken", lambda op, promises, spent: iter([1]), close), fault(torch.add), budget=1.0)
    assert "TypeError" in capfd.readouterr().err


@pytest.mark.parametrize("regime", REGIMES, ids=lambda regime: regime.name)
def test_the_rivals_pass_what_is_right_and_see_a_plain_fault(regime):
    assert not attempt(regime, fault(torch.add), budget=0.1).caught
    assert attempt(regime, fault(off_by_one), budget=0.1).caught


def test_each_has_the_seconds_of_the_suite_and_its_mean_at_least():
    rows = [
        detection.Row(each, "accuracy", 1, seconds, alarm=False)
        for each, seconds in zip(detection.faults()[:2], (1.0, 5.0), strict=True)
    ]

    assert list(detection.budgets(rows).values()) == [3.0, 5.0]


def test_the_document_counts_and_the_page_says_why_a_peer_was_not_measured():
    row = detection.measure(next(each for each in detection.faults() if each.name == "add_flat_result"))
    row.rivals = {REGIMES[0].name: Attempt(True, False, 1.0), "gpucheck": Attempt(False, True, 2.0)}

    data = detection.document([row], {"tilelens": "no such release", "ttsem": "not asked for: --peers"})
    page = detection_page.markdown(data)

    assert row.oracle == "metadata"
    assert data["regimes"]["this suite"]["caught"] == 1
    assert data["regimes"]["gpucheck"] == {
        "caught": 0,
        "as_soon": 0,
        "applicable": 1,
        "false_alarms": 1,
        "seconds": 2.0,
    }
    assert data["regimes"]["tilelens"]["caught"] is None
    assert "Not measured: no such release." in page
    assert "the suite catches 1.00 times its share" in page
    assert "is *one allclose, as in the tutorials*: with none" in page
    assert "| add_flat_result | META | metadata | 1 |" in page


def test_an_installation_that_fails_says_what_pip_says(tmp_path, monkeypatch):
    peer = peers.Peer("none", ("none==0",), (), ("python",), "nothing")
    program = tmp_path / "none/bin/python"
    program.parent.mkdir(parents=True)
    said = "ERROR: No matching distribution\\nhint: see above"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('{said}')\n")
    program.chmod(0o755)
    monkeypatch.setattr(peers.venv, "create", lambda home, **options: None)

    with pytest.raises(peers.PeerUnavailable, match="ERROR: No matching distribution"):
        peers.install(peer, tmp_path)
