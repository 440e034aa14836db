from __future__ import annotations

import json
import os
import pathlib
import re
import signal

import pytest

import kernels_triton
from conformance.mutation import Mutant, Subject, mutate
from conformance.mutation.child import Child
from conformance.mutation.equivalents import RECORD, keys, load
from conformance.mutation.report import document, markdown, text
from conformance.mutation.sources import mutants
from conformance.ops import vector_add
from conformance.targets import TargetError
from kernels_triton.vector_add import vector_add as kernel

SUBJECT = Subject(kernel, vector_add)
SOURCE = pathlib.Path(kernels_triton.__file__).with_name("vector_add.py")
(STORE,) = [i for i, line in enumerate(SOURCE.read_text().splitlines(), 1) if "tl.store(" in line]


@pytest.fixture(scope="module")
def score():
    return mutate(SUBJECT, examples=20, lines=range(STORE, STORE + 1), jobs=1)


def test_the_mask_of_the_store_is_missed_by_an_oracle_that_says_so(score):
    verdicts = {verdict.mutant.kind: verdict for verdict in score.verdicts}

    assert verdicts["unmask"].fate == "killed"
    assert verdicts["unmask"].oracle == "bounds"
    assert re.search(r" at \w+\.py:\d+: ", verdicts["unmask"].note), verdicts["unmask"].note  # no folder of this run
    assert score.ratio == 1.0
    assert not score.survivors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupt_keeps_the_verdicts_until_then(number):
    before = signal.getsignal(number)
    # a shell that starts a run in the background has SIGINT ignored
    signal.signal(number, signal.default_int_handler)
    try:
        found = mutate(SUBJECT, examples=5, jobs=2, progress=lambda verdict, score: os.kill(os.getpid(), number))
    finally:
        assert signal.getsignal(number) is signal.default_int_handler
        signal.signal(number, before)

    assert found.interrupted
    assert len([v for v in found.verdicts if v.fate != "equivalent"]) == 1
    assert f"of {found.expected} mutants have a verdict" in "\n".join(text(found))
    assert document([found])["sources"][0]["interrupted"]


@pytest.mark.parametrize(
    ("body", "oracle", "note"),
    [
        ("import os; os.abort()", "crash", "signal 6"),
        ("while True: pass", "hang", "no end after 1 s of computing"),
        ("import time; time.sleep(1000)", "hang", "no end after 15 s of waiting"),
    ],
)
def test_a_mutant_that_ends_its_process_or_never_ends_is_killed(body, oracle, note):
    text = SOURCE.read_text().replace("    check_tensors(", f"    {body}\n    check_tensors(", 1)
    mutant = Mutant("none", 1, "", "", text)
    verdict = Child([SUBJECT], SOURCE, mutant, examples=1, seed=0, seconds=1.0).verdict()

    assert (verdict.fate, verdict.oracle, verdict.note) == ("killed", oracle, note)


def test_time_in_which_a_mutant_does_not_run_is_no_hang():
    mutant = Mutant("none", 1, "", "", SOURCE.read_text())
    child = Child([SUBJECT], SOURCE, mutant, examples=1, seed=0, seconds=60.0)
    os.kill(child._process, signal.SIGSTOP)  # as on a machine with other load
    assert not child.done()
    os.kill(child._process, signal.SIGCONT)

    assert child.verdict().fate == "survived"


def test_a_failure_of_the_judge_is_no_kill():
    subject = Subject(kernel, vector_add, options={"oracles": ("nonsense",)})
    child = Child([subject], SOURCE, Mutant("none", 1, "", "", SOURCE.read_text()), examples=1, seed=0, seconds=60.0)

    with pytest.raises(RuntimeError, match=r"could not be judged:(.|\n)*'nonsense' is no lane"):
        child.verdict()


def test_an_unchanged_kernel_that_fails_is_refused():
    with pytest.raises(ValueError, match="does not pass unchanged"):
        mutate(
            Subject(kernel, vector_add, options={"layouts": ("contiguous",)}), examples=5, lines=range(STORE, STORE + 1)
        )


def test_what_is_no_function_of_a_file_is_refused():
    with pytest.raises(TargetError, match="top level"):
        mutate(Subject(lambda x, y: x, vector_add))


def test_an_equivalent_is_not_run_and_its_reason_is_reported():
    ((file, edit),) = [
        edit for m, edit in keys(SOURCE, mutants(SOURCE)).items() if m.line == STORE and m.kind == "unmask"
    ]
    found = mutate(
        SUBJECT, examples=5, lines=range(STORE, STORE + 1), record={file: {edit: "because"}}, sample=50, jobs=1
    )

    (equivalent,) = [verdict for verdict in found.verdicts if verdict.fate == "equivalent"]
    assert equivalent.note == "because"
    assert any("because" in line for line in text(found))


def test_every_recorded_equivalent_is_a_mutant_of_today():
    root = pathlib.Path(kernels_triton.__file__).parent.parent
    for file, edits in load().items():
        today = {edit for _, edit in keys(root / file, mutants(root / file)).values()}
        assert set(edits) <= today, file


def test_an_equivalent_needs_a_reason(tmp_path):
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"a.py": {"x": " "}}))
    with pytest.raises(ValueError, match="has no reason"):
        load(record)
    assert RECORD.is_file()


def test_the_page_and_the_document_count_alike(score):
    (source,) = document([score])["sources"]

    assert source["killed"] == len(score.verdicts)
    assert f"| {source['killed']} | 0 | 0 | 0 | 100.0% |" in markdown([score], "command")
