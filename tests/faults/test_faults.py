"""Every fault is found by an oracle that it names, in the line that it marks; its repaired twin passes everything."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import pytest

from conformance import check, profiles
from conformance.faults import FAULTS
from conformance.faults.catching import Caught, carrying, catch
from conformance.report.explanations import ORACLES

SHOWN = [fault for fault in FAULTS if fault.runtime != "gpu"]
REPAIRED = [fault for fault in SHOWN if fault.fixed is not None]
# of each test id of a twin; the nightly profile gives the default budget
TWIN_EXAMPLES = 15
# in which a fault is found; a fault that some seeds miss is a hole of the strategies
SEEDS = 20

each = pytest.mark.parametrize("fault", SHOWN, ids=lambda fault: fault.name)
each_twin = pytest.mark.parametrize("fault", REPAIRED, ids=lambda fault: fault.name)


def source_of(fault):
    file = Path(inspect.getsourcefile(sys.modules[fault.kernel.__module__]))
    beside = file.with_suffix(".cu")
    return beside if beside.is_file() else file


def statements(tree):
    """The innermost statements, with their line ranges: a compound one counts with its head alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
            yield node, range(node.lineno, max(last, node.lineno) + 1)


def names(node, context):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def shown_lines(fault):
    """Where the fault can show: its marked statements and what is computed from them in its kernel; None for every
    line, where a marked line is in the launcher."""
    if source_of(fault).suffix == ".cu":
        return None
    text = source_of(fault).read_text()
    tree = ast.parse(text)
    found, tainted = set(), set()
    for line, words in enumerate(text.splitlines(), 1):
        if fault.line not in words:
            continue
        (outer,) = [node for node in tree.body if first_line(node) <= line <= node.end_lineno]
        if isinstance(outer, ast.Assign) and ast.unparse(outer.targets[0]) == "fault":
            continue  # the mark itself
        if not isinstance(outer, ast.FunctionDef) or not any("jit" in ast.unparse(d) for d in outer.decorator_list):
            return None
        inner = [(node, lines) for node, lines in statements(outer) if node is not outer]
        for node, lines in inner:
            if line in lines:
                found |= set(lines)
                tainted |= names(node, ast.Store)
        while True:
            uses = [(node, lines) for node, lines in inner if names(node, ast.Load) & tainted]
            more = {line for _, lines in uses for line in lines} | found
            named = set().union(*(names(node, ast.Store) for node, _ in uses), tainted)
            if (more, named) == (found, tainted):
                break
            found, tainted = more, named
    return found


def first_line(node):
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


@each
def test_an_oracle_that_the_fault_names_objects_within_the_default_budget(fault):
    caught = catch(fault, examples=100, seed=0)

    assert isinstance(caught, Caught), f"{fault.name}: none of {fault.oracles} objects in {caught.examples} examples"
    lines = shown_lines(fault)
    for event in caught.objection.events:
        if event.site is not None:
            assert Path(event.site.file).name == source_of(fault).name, event
            assert lines is None or event.site.line in lines, event


@pytest.mark.slow
@pytest.mark.skipif(profiles.current().name not in ("nightly", "soak"), reason="the profiles nightly and soak run it")
@each
def test_an_oracle_that_the_fault_names_objects_in_every_seed(fault):
    first = profiles.current().seed
    missed = [
        seed for seed in range(first, first + SEEDS) if not isinstance(catch(fault, examples=100, seed=seed), Caught)
    ]

    assert not missed, f"{fault.name}: none of {fault.oracles} objects with the seeds {missed}"


@each_twin
def test_no_oracle_objects_to_the_repaired_twin(fault):
    report = check(fault.fixed, fault.op, examples=TWIN_EXAMPLES, seed=0, stop_at_first=True, **fault.promises)

    assert report.ok, [(finding.oracle, finding.summary) for finding in report.findings]


@pytest.mark.slow
@pytest.mark.skipif(profiles.current().name not in ("nightly", "soak"), reason="the profiles nightly and soak run it")
@each_twin
def test_no_oracle_objects_to_the_repaired_twin_within_the_default_budget(fault):
    report = check(
        fault.fixed, fault.op, examples=100, seed=profiles.current().seed, stop_at_first=True, **fault.promises
    )

    assert report.ok, [(finding.oracle, finding.summary) for finding in report.findings]


def test_every_fault_names_oracles_that_exist_and_marks_a_line_of_its_file():
    for fault in FAULTS:
        assert fault.oracles, fault.name
        assert set(fault.oracles) <= set(ORACLES), fault.name
        assert all(carrying(oracle) for oracle in fault.oracles), fault.name
        assert fault.line in source_of(fault).read_text(), fault.name


def test_names_of_faults_are_those_of_their_files():
    assert [fault.name for fault in FAULTS] == [source_of(fault).stem for fault in FAULTS]
