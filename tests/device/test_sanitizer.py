from __future__ import annotations

import dataclasses
import stat

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
