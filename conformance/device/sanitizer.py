"""NVIDIA's compute-sanitizer over the script of a finding: its first report says which access of which thread."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.failures import Finding

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

# A script needs about ten seconds under memcheck (importing torch, mostly) and some times that under racecheck.
_SECONDS = 180.0
# A test of a hundred calls under a tool that makes each launch ten to a hundred times slower.
_TEST_SECONDS = 900.0
# Lines of a report that are kept: the error, the thread, the address, and the device's side of the stack.
_LINES = 12
_MARK = "========="
# How the tools begin an error (NVIDIA, "Compute Sanitizer", the outputs shown for each tool).
_ERROR = re.compile(r"(Invalid|Error|Warning|Race|Uninitialized|Barrier|Divergent|Program hit|Potential|Misaligned)")


class SanitizerMissing(Exception):
    """compute-sanitizer cannot be run here; the message says what to do."""


def executable() -> str:
    """The path of compute-sanitizer.

    Raises:
        SanitizerMissing: it is neither on the path nor in CUDA's folder.
    """
    candidates = [shutil.which("compute-sanitizer")]
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root:
            candidates.append(shutil.which("compute-sanitizer", path=os.path.join(root, "bin")))
    for candidate in candidates:
        if candidate:
            return candidate
    raise SanitizerMissing(
        "compute-sanitizer is not on the path: it comes with the CUDA toolkit, in the folder `bin` of $CUDA_HOME"
    )


def environment() -> dict[str, str]:
    """The environment for a script: torch must not cache memory, or an overrun ends in memory that is its own."""
    path = os.pathsep.join([folder or os.getcwd() for folder in sys.path])
    return {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "PYTHONPATH": path}


def reports(output: str) -> list[tuple[str, ...]]:
    r"""The lines of each error that compute-sanitizer reports, without its marks.

    >>> reports("========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n"
    ...         "=========     at k+0x10\n========= \n========= ERROR SUMMARY: 1 error")
    [('Invalid __global__ read of size 4 bytes', 'at k+0x10')]
    """
    found: list[list[str]] = []
    inside = False
    for line in output.splitlines():
        if not line.startswith(_MARK):
            continue
        text = line[len(_MARK) :].strip()
        if not text or text.startswith(("ERROR SUMMARY", "RACECHECK SUMMARY")):
            inside = False
        elif _ERROR.match(text):
            found.append([text])
            inside = True
        elif inside:
            found[-1].append(text)
    return [tuple(lines) for lines in found]


def first_report(output: str) -> tuple[str, ...]:
    """The lines of the first error that compute-sanitizer reports, as many as a finding keeps; none without one."""
    return next(iter(reports(output)), ())[:_LINES]


def run(script: str, tool: str, *, seconds: float = _SECONDS) -> tuple[str, ...]:
    """The first report of a tool on a script, none if it finds nothing.

    Raises:
        SanitizerMissing: compute-sanitizer is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "finding.py"
        path.write_text(script, encoding="utf-8")
        output, _ = _under(tool, [str(path)], seconds)
    return (f"the script had not ended after {seconds:g} s",) if output is None else first_report(output)


def over_test(test: str, tool: str, options: Sequence[str], *, seconds: float = _TEST_SECONDS) -> tuple[str, ...]:
    """The first report of a tool on a whole test, `path::name` with pytest's options; none if it finds nothing.

    A test that fails there without a report is one: its last lines.

    Raises:
        SanitizerMissing: compute-sanitizer is not installed.
    """
    output, status = _under(tool, ["-m", "pytest", "-q", "-p", "no:cacheprovider", *options, test], seconds)
    if output is None:
        return (f"the test had not ended after {seconds:g} s",)
    report = first_report(output)
    if report or status == 0:
        return report
    return ("the test fails under the sanitizer, and passes without:", *output.strip().splitlines()[-_LINES:])


def _under(tool: str, arguments: Sequence[str], seconds: float) -> tuple[str | None, int]:
    """What Python prints under a tool, and its status; no output where it has not ended by then."""
    command = [executable(), "--tool", tool, "--target-processes", "all", sys.executable, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False, env=environment()
        )
    except subprocess.TimeoutExpired:
        return None, -1
    return f"{done.stdout}\n{done.stderr}", done.returncode


def attach(finding: Finding, tools: Sequence[str]) -> Finding:
    """The finding with the first report of each tool among its notes.

    Raises:
        SanitizerMissing: compute-sanitizer is not installed.
    """
    if not finding.script:
        return finding
    reports: Mapping[str, tuple[str, ...]] = {tool: run(finding.script, tool) for tool in tools}
    notes = [line for tool, lines in reports.items() for line in (f"compute-sanitizer {tool}:", *_shown(lines))]
    return dataclasses.replace(finding, notes=(*finding.notes, *notes))


def _shown(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"  {line}" for line in lines) or ("  nothing reported",)
