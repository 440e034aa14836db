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
    assert all(parity.compare(trial, known) == parity.Comparison(same_bits=True) for known in records())


def test_the_run_that_is_outside_the_ball_is_named():
    known = next(r for r in records() if r.outputs[0].numel())
    (objection,) = parity.compare(Trial(ending.copy, ending.wrong), known).objections
    assert objection.failure.oracle == "parity"
    assert "this run is outside" in objection.summary
    other = dataclasses.replace(known, outputs=(known.outputs[0] + 1,))
    (objection,) = parity.compare(Trial(ending.copy, ending.correct), other).objections
    assert "the recorded run is outside" in objection.summary


def test_a_run_that_raises_alone_disagrees():
    known = records()[0]
    (objection,) = parity.compare(Trial(ending.copy, ending.raises), known).objections
    assert "of my own" in objection.summary
    both = parity.compare(Trial(ending.copy, ending.raises), dataclasses.replace(known, outputs=None))
    assert not both.objections


def test_another_shape_disagrees():
    known = next(r for r in records() if r.outputs[0].numel() > 1)
    cut = dataclasses.replace(known, outputs=(known.outputs[0][1:],))
    (objection,) = parity.compare(Trial(ending.copy, ending.correct), cut).objections
    assert "in the record" in objection.summary


def test_a_file_that_is_no_corpus_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="no corpus"):
        parity.read(path)


def test_results_inside_the_ball_with_other_bits_agree():
    known = next(r for r in records() if bool((r.outputs[0] > 1).any()))
    trial = Trial(ending.rounded, ending.rounds_down)
    near = dataclasses.replace(known, outputs=(known.outputs[0] / 3,))
    assert parity.compare(trial, near) == parity.Comparison(same_bits=False)


def test_the_command_records_and_compares_what_ships(tmp_path, monkeypatch, capsys):
    chosen = [item for item in command.items() if item.trial.op.name == "vector_add"][:3]
    monkeypatch.setattr(command, "items", lambda: chosen)
    path, page = str(tmp_path / "corpus.json"), tmp_path / "page.md"
    assert command.main(["record", path, "--examples", "3"]) == 0
    assert command.main(["compare", path, "--write", str(page)]) == 0
    assert "9 calls, **0 disagreements**" in capsys.readouterr().out
    assert "kernels_triton.vector_add.vector_add |" in page.read_text()


def test_kernels_of_both_languages_are_compared_under_names_of_their_own():
    names = [parity.key(item.trial) for item in command.items()]
    assert any("kernels_cuda.matmul" in name for name in names)
    assert "kernels_triton.softmax.softmax" in names
    assert "kernels_triton.softmax.softmax longest=32" in names


def test_a_disagreement_is_shown_with_its_call_and_fails_the_command(tmp_path, monkeypatch, capsys):
    item = next(item for item in command.items() if item.trial.op.name == "vector_add")
    monkeypatch.setattr(command, "items", lambda: [item])
    path = tmp_path / "corpus.json"
    known = parity.record(item.trial, item.dtype, examples=9, seed=0)
    wrong = [dataclasses.replace(r, outputs=tuple(o + 1000 for o in r.outputs)) for r in known]
    parity.write(path, wrong)
    assert command.main(["compare", str(path)]) == 1
    assert "the recorded run is outside" in capsys.readouterr().out
