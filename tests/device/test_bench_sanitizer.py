from __future__ import annotations

import json
import pathlib
import stat

import pytest

from conformance.bench import planted, sanitizer
from kernels_cuda.signatures import parse

CORPUS = pathlib.Path(__file__).parents[1] / "emulator" / "corpus"

RACES = """\
========= COMPUTE-SANITIZER
launched scan_tree_0
========= Error: Race reported between Write access at scan_tree_2+0x1b0 in scan_tree.cu:9
=========     and Read access at scan_tree_2+0x2d0 in scan_tree.cu:10 [96 hazards]
=========
launched scan_tree_2
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_every_kind_of_planted_fault_has_a_tool_or_none():
    assert {fault.kind for fault in planted.FAULTS.values()} <= set(sanitizer.TOOLS)


@pytest.mark.parametrize("job", list(sanitizer.jobs(CORPUS)), ids=lambda job: pathlib.Path(job.what).stem)
def test_what_is_launched_fits_the_signatures_of_its_kernels(job):
    for launch, kernel in zip(sanitizer.launches(job.what), job.kernels, strict=True):
        signature = parse(launch.text)[kernel]
        for parameter, value in zip(signature, launch.arguments, strict=True):
            parameter.pack(value)


def test_a_report_is_of_the_kernel_that_it_names():
    found = sanitizer.confirmed(RACES, ["scan_tree_0", "scan_tree_1", "scan_tree_2"])
    assert list(found) == ["scan_tree_2"]
    assert found["scan_tree_2"].startswith("Error: Race reported")
    stopped = '========= Program hit cudaErrorAssert (error 710) due to "device-side assert triggered"\n=========\n'
    assert list(sanitizer.confirmed(stopped, ["planted"])) == ["planted"]
    assert not sanitizer.confirmed(stopped, ["a", "b"])


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A stand-in that finds a race in the second variant of `scan_tree`, and in every planted fault an invalid read."""
    fake = tmp_path / "compute-sanitizer"
    fake.write_text(
        f"#!/bin/sh\ncase \"$7\" in\n  *scan_tree.cu) cat <<'END'\n{RACES}END\n;;\n"
        "  fault:*) echo '========= Invalid __global__ read'; echo '=========     at planted+0x10';;\n"
        "  cure:*) echo 'launched planted';;\nesac\n"
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_the_command_writes_what_is_confirmed(installed, tmp_path, capsys):
    page, records = tmp_path / "page.md", tmp_path / "records.json"
    assert sanitizer.main(["--corpus", str(CORPUS), "--json", str(records), "--write", str(page)]) == 0
    text = page.read_text()
    assert "| scan_tree | 2 | 1 | 0 |" in text
    assert "| a misaligned float4 | misaligned access | memcheck | Invalid __global__ read | nothing |" in text
    assert "none looks at it" in text
    assert len(json.loads(records.read_text())) == len(list(sanitizer.jobs(CORPUS)))
    assert text.splitlines()[1] in capsys.readouterr().out


def test_without_the_sanitizer_the_command_says_so(monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    assert sanitizer.main([]) == 2
    assert "CUDA toolkit" in capsys.readouterr().err
