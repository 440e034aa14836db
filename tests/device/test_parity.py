from __future__ import annotations

import dataclasses

import ending
import pytest
import torch

from conformance.bench import parity as command
from conformance.device import parity
from conformance.trial import Trial


def records(kernel=ending.correct):
    return parity.record(Trial(ending.copy, kernel), torch.float32, examples=15, seed=0)


def test_a_corpus_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "corpus.json"
    parity.write(path, records())
    again = parity.read(path)
    for one, other in zip(records(), again, strict=True):
        assert one.call == other.call
        assert all(torch.equal(a, b) for a, b in zip(one.outputs, other.outputs, strict=True))


def test_equal_runs_agree():
    trial = Trial(ending.copy, ending.correct)
    assert all(parity.compare(trial, known) == [] for known in records())


def test_the_run_that_is_outside_the_ball_is_named():
    known = next(r for r in records() if r.outputs[0].numel())
    (objection,) = parity.compare(Trial(ending.copy, ending.wrong), known)
    assert objection.failure.oracle == "parity"
    assert "this run is outside" in objection.summary
    other = dataclasses.replace(known, outputs=(known.outputs[0] + 1,))
    (objection,) = parity.compare(Trial(ending.copy, ending.correct), other)
    assert "the recorded run is outside" in objection.summary


def test_a_run_that_raises_alone_disagrees():
    known = records()[0]
    (objection,) = parity.compare(Trial(ending.copy, ending.raises), known)
    assert "of my own" in objection.summary
    assert parity.compare(Trial(ending.copy, ending.raises), dataclasses.replace(known, outputs=None)) == []


def test_another_shape_disagrees():
    known = next(r for r in records() if r.outputs[0].numel() > 1)
    cut = dataclasses.replace(known, outputs=(known.outputs[0][1:],))
    (objection,) = parity.compare(Trial(ending.copy, ending.correct), cut)
    assert "in the record" in objection.summary


def test_a_file_that_is_no_corpus_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="no corpus"):
        parity.read(path)


def test_the_command_records_and_compares_the_four_kernels(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "EXAMPLES", 3)
    path = str(tmp_path / "corpus.json")
    assert command.record(path, examples=3) == 24
    assert command.main(["compare", path]) == 0
    assert "24 calls compared" in capsys.readouterr().out
    assert command.main(["play"]) == 2
