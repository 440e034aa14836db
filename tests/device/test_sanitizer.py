from __future__ import annotations

import dataclasses
import os
import stat
import subprocess
import sys

import pytest

from conformance.device import sanitizer
from conformance.failures import Finding

OUTPUT = """\
========= COMPUTE-SANITIZER
kernel:    tensor([1.])
========= Invalid __global__ read of size 4 bytes
=========     at _kernel+0x120 in add.py:12
=========     by thread (3,0,0) in block (0,0,0)
=========     Access at 0x7f0000000010 is out of bounds
=========
========= Invalid __global__ read of size 4 bytes
=========     at _kernel+0x120 in add.py:12
=========
========= ERROR SUMMARY: 2 errors
"""


def finding(script="print('x')"):
    return Finding("bounds", "law", "op", "kernel", "summary", {}, script=script)


def test_the_first_report_ends_where_the_second_begins():
    lines = sanitizer.first_report(OUTPUT)
    assert len(lines) == 4
    assert "thread (3,0,0)" in lines[2]


def test_output_without_an_error_gives_no_report():
    assert sanitizer.first_report("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == ()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A stand-in that prints a report if the environment and the script are as they should be."""
    fake = tmp_path / "compute-sanitizer"
    fake.write_text(
        '#!/bin/sh\n[ "$PYTORCH_NO_CUDA_MEMORY_CACHING" = 1 ] && [ -f "$6" ] && cat <<END\n' + OUTPUT + "END\n"
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_a_finding_gets_the_report_of_each_tool_among_its_notes(installed):
    notes = sanitizer.attach(finding(), ("memcheck", "racecheck")).notes
    assert notes[0] == "compute-sanitizer memcheck:"
    assert "Invalid __global__ read" in notes[1]
    assert "compute-sanitizer racecheck:" in notes


def test_a_finding_without_a_script_stays_as_it_is(installed):
    bare = dataclasses.replace(finding(), script="")
    assert sanitizer.attach(bare, ("memcheck",)) is bare


def test_a_missing_sanitizer_says_where_it_comes_from(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    with pytest.raises(sanitizer.SanitizerMissing, match="CUDA toolkit"):
        sanitizer.executable()


def test_every_report_of_an_output_is_told_apart():
    assert [len(report) for report in sanitizer.reports(OUTPUT)] == [4, 2]
    assert sanitizer.reports("no mark\n") == []


@pytest.fixture
def runs(tmp_path, installed):
    """Runs pytest on a test that passes, with options, under the stand-in."""
    (tmp_path / "test_it.py").write_text("def test_passes(): pass\n")

    def run(*options):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conformance.plugin", *options],
            capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folder or os.getcwd() for folder in sys.path)},
        )  # fmt: skip

    return run


def test_a_test_that_passes_fails_with_the_report_on_its_run_under_the_tool(runs, tmp_path):
    fake = tmp_path / "compute-sanitizer"
    fake.write_text(fake.read_text().replace('[ -f "$6" ]', 'echo "$*" >>arguments'))
    assert "1 passed" in runs("--compute-sanitizer", "memcheck").stdout
    done = runs("--compute-sanitizer", "memcheck", "--compute-sanitizer-tests")
    assert "compute-sanitizer memcheck:\n  Invalid __global__ read of size 4 bytes" in done.stdout
    assert "1 failed" in done.stdout
    (arguments,) = (tmp_path / "arguments").read_text().splitlines()
    assert arguments.endswith(f"{tmp_path}/test_it.py::test_passes")


def test_running_tests_under_no_tool_is_wrong_use(runs):
    done = runs("--compute-sanitizer-tests")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "needs a tool" in done.stderr


def test_a_test_that_fails_under_the_tool_alone_is_a_report(tmp_path, monkeypatch):
    fake = tmp_path / "compute-sanitizer"
    fake.write_text("#!/bin/sh\necho 'no memory left'; exit 1\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    report = sanitizer.over_test("test_it.py::test_passes", "memcheck", [])
    assert report[0].startswith("the test fails under the sanitizer")
    assert report[-1] == "no memory left"
