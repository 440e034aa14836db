"""How the command ends: threads, interrupts, exits and faults."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest
from commands import OPS, REFERENCE_THAT_EXITS, check, run, start, start_command

from conformance.cli import FINDINGS, OK, UNUSABLE
from conformance.startup import INTERRUPTED


def test_a_kernel_that_ends_the_process_is_objected_to(folder: Path) -> None:
    process = start(folder, "ends_the_process", "--examples", "5")
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == FINDINGS, stderr
    assert "the kernel ended the process that judged it (exit code 0)" in stderr
    assert "crash: the process that ran the call was left with exit code 0" in stdout


def test_threads_that_a_kernel_leaves_behind_do_not_keep_the_command_alive(folder: Path) -> None:
    process = start(folder, "starts_thread", "--examples", "5")
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == OK, stderr
    assert "that the kernel started still run" in stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupt_keeps_what_was_found(number: signal.Signals, folder: Path) -> None:
    process = start(folder, "slow", "--examples", "100000", "--json", "results.json")
    wait_for(folder / "running")
    time.sleep(1)  # some examples long
    process.send_signal(number)
    try:
        stdout, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in stderr
    assert "interrupted" in stdout + stderr
    document = json.loads((folder / "results.json").read_text())
    assert document["reports"][0]["interrupted"]
    assert document["reports"][0]["results"][0]["examples"] > 0
    assert process.returncode in (FINDINGS, UNUSABLE)


SLOW_IMPORT = """
import pathlib, time

pathlib.Path("running").touch()
try:
    time.sleep(600)
except BaseException:  # as libraries have it
    pass
"""


@pytest.mark.parametrize("file", ["first/torch.py", "slow_import.py"])
def test_an_interrupt_of_an_import_ends_the_command_with_one_line(file: str, folder: Path) -> None:
    (folder / "first").mkdir()
    (folder / file).write_text(SLOW_IMPORT if "torch" in file else SLOW_IMPORT.partition("try:")[0] + "time.sleep(600)")
    process = start_command(folder, "check", "slow_import.py:kernel", "--op", "cli_ops.py:double")
    try:
        wait_for(folder / "running")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, stdout, stderr) == (INTERRUPTED, "", "interrupted\n")


HANGS = """
import pathlib

import torch
from kernels_cuda import launcher


def kernel(x):
    out = torch.empty(x.shape)
    if x.numel() > 1:
        pathlib.Path("running").touch()
    if x.numel():
        launcher.load("hangs.cu").launch("hangs", 1, 32, (x.contiguous(), out, x.numel()))
    return out
"""

HANGS_CUDA = """
extern "C" __global__ void hangs(const float* x, float* out, int n) {
    volatile int spin = n > 1;
    while (spin) {}
    if (threadIdx.x < n) out[threadIdx.x] = 3 * x[threadIdx.x];
}
"""


def test_an_interrupt_of_a_cuda_kernel_that_hangs_is_one_and_keeps_what_was_found(folder: Path) -> None:
    (folder / "hangs.py").write_text(HANGS)
    (folder / "hangs.cu").write_text(HANGS_CUDA)
    process = start_command(
        folder, "check", "hangs.py:kernel", "--op", "cli_ops.py:double", "--oracle", "launch", "--json", "results.json"
    )
    try:
        wait_for(folder / "running")
        time.sleep(1)  # of the first hang, which would be a finding after 20 s
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in stderr
    assert "LauncherHang" not in stdout + stderr
    assert "interrupted" in stderr
    (report,) = json.loads((folder / "results.json").read_text())["reports"]
    assert report["interrupted"]
    assert {finding["oracle"] for finding in report["findings"]} <= {"accuracy"}
    assert process.returncode == (FINDINGS if report["findings"] else UNUSABLE)


def wait_for(file: Path) -> None:
    """Wait until the file is there."""
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)


def test_an_interrupt_of_mutate_keeps_the_verdicts(folder: Path) -> None:
    process = start_command(
        folder, "mutate", "kernels_triton.vector_add:vector_add", "--op", "vector_add", "--jobs", "1",
        "--examples", "5", "--json", "mutants.json",
    )  # fmt: skip
    assert process.stderr is not None
    try:
        lines = [process.stderr.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert all(re.match(r"\d+/\d+ (killed|survived) ", line) for line in lines), lines
    assert "Traceback" not in stderr
    assert "interrupted" in stderr
    assert " mutants have a verdict" in stdout
    (source,) = json.loads((folder / "mutants.json").read_text())["sources"]
    assert source["interrupted"]
    assert 3 <= source["killed"] + source["survived"] < source["mutants"] - source["equivalent"]
    assert process.returncode == (FINDINGS if source["survived"] else UNUSABLE)


@pytest.mark.parametrize(
    ("target", "example"),
    [
        ("cli_kernels.py:right", "__import__('sys').exit(0)"),
        ("leaves_at_import.py:kernel", "torch.ones(2, 2)"),
        ("leaves_on_access.py:kernel", "torch.ones(2, 2)"),
    ],
)
def test_sys_exit_in_what_is_given_is_no_success(target: str, example: str, folder: Path) -> None:
    (folder / "leaves_at_import.py").write_text("import sys\nsys.exit(0)\n")
    (folder / "leaves_on_access.py").write_text("import sys\n\n\ndef __getattr__(name):\n    sys.exit(0)\n")
    result = run("check", target, "--against", "cli_ops.py:reference", "--example", example)
    assert result.exit_code == UNUSABLE, result.output
    assert "exit" in result.stderr.lower()


def test_sys_exit_in_a_reference_is_no_success(folder: Path) -> None:
    (folder / "leaving_ops.py").write_text(
        OPS.replace("lambda x: x * 2", "reference").replace("double = ", REFERENCE_THAT_EXITS + "double = ")
    )
    result = run("check", "cli_kernels.py:right", "--op", "leaving_ops.py:double", "--examples", "3")
    assert result.exit_code == UNUSABLE, result.output


def test_a_fault_of_the_suite_itself_is_said_to_be_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise AttributeError("no such thing")

    monkeypatch.setattr("conformance.checking.check", broken)
    result = check("right")
    assert result.exit_code == UNUSABLE
    assert "a fault of triton-conformance itself" in result.output
