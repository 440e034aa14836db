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
# Lines of a report that are kept: the error, the thread, the address, and the device's side of the stack.
_LINES = 12
_MARK = "========="


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


def first_report(output: str) -> tuple[str, ...]:
    """The lines of the first error that compute-sanitizer reports, without its marks; none if it reports none.

    >>> first_report("========= COMPUTE-SANITIZER\\n========= Invalid __global__ read of size 4 bytes\\n"
    ...              "=========     at k+0x10\\n========= \\n========= ERROR SUMMARY: 1 error")
    ('Invalid __global__ read of size 4 bytes', 'at k+0x10')
    """
    found: list[str] = []
    for line in output.splitlines():
        if not line.startswith(_MARK):
            continue
        text = line[len(_MARK) :].strip()
        if not found:
            if re.match(r"(Invalid|Error|Warning|Race|Uninitialized|Barrier|Program hit|Potential|Misaligned)", text):
                found.append(text)
        elif not text or text.startswith("ERROR SUMMARY"):
            break
        else:
            found.append(text)
    return tuple(found[:_LINES])


def run(script: str, tool: str, *, seconds: float = _SECONDS) -> tuple[str, ...]:
    """The first report of a tool on a script, none if it finds nothing.

    Raises:
        SanitizerMissing: compute-sanitizer is not installed.
    """
    command = executable()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path = Path(folder) / "finding.py"
        path.write_text(script, encoding="utf-8")
        try:
            done = subprocess.run(
                [command, "--tool", tool, "--target-processes", "all", sys.executable, str(path)],
                capture_output=True, text=True, errors="replace", timeout=seconds, check=False, env=environment(),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return (f"the script had not ended after {seconds:g} s",)
    return first_report(done.stdout + "\n" + done.stderr)


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
