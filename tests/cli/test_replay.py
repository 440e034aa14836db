"""`conformance replay`: a finding is judged again until it is repaired."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from commands import check, run

from conformance.cli import FINDINGS, OK, UNUSABLE


def test_a_finding_is_replayed_until_it_is_repaired(folder: Path) -> None:
    check("wrong")
    (file,) = (folder / ".conformance/findings").iterdir()
    options = ("--op", "cli_ops.py:double")
    again = run("replay", str(file), *options, "--target", "cli_kernels.py:wrong")
    assert again.exit_code == FINDINGS, again.output
    repaired = run("replay", str(file), *options, "--target", "cli_kernels.py:right")
    assert repaired.exit_code == OK
    assert "accuracy no longer objects" in repaired.output


def printed_command(output: str) -> list[str]:
    """The words of the command to judge a finding again that `check` printed, without the program."""
    (line,) = re.findall(r"^  conformance (replay .*)$", output, re.MULTILINE)
    return shlex.split(line)


def forget() -> None:
    """Let the next command import the modules of the folder anew, as a new process does."""
    for name in ("cli_ops", "cli_kernels"):
        sys.modules.pop(name, None)


def test_the_printed_command_replays_a_kernel_in_a_folder_that_is_no_module(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "cli_kernels.py").rename(folder / "deep" / "cli_kernels.py")
    options = ("--examples", "15", "--oracle", "launch")
    command = printed_command(run("check", "deep/cli_kernels.py:wrong", "--op", "cli_ops.py:double", *options).stdout)
    forget()
    assert run(*command).exit_code == FINDINGS
    forget()
    assert run("replay", command[1]).exit_code == FINDINGS  # the script in the finding knows the paths


def test_the_printed_command_replays_a_check_against_a_function(folder: Path) -> None:
    options = ("--against", "cli_ops.py:reference", "--example", "torch.randn(4, 8)", "--dtype", "float32")
    checked = run("check", "cli_kernels.py:wrong", *options, "--examples", "15", "--oracle", "launch")
    command = printed_command(checked.stdout)
    forget()
    assert run(*command).exit_code == FINDINGS
    forget()
    assert run("replay", command[1]).exit_code == FINDINGS  # the finding knows what it was checked against
    document = json.loads(Path(command[1]).read_text())
    document["finding"]["options"] = []
    Path(command[1]).write_text(json.dumps(document))
    bare = run("replay", command[1])
    assert bare.exit_code == UNUSABLE
    assert "give it with --op FILE:NAME" in bare.stderr


def test_promises_of_a_check_hold_in_its_replay(folder: Path) -> None:
    options = ("--op", "cli_ops.py:double", "--promise", "compute=float16", "--examples", "15", "--oracle", "launch")
    command = printed_command(run("check", "cli_kernels.py:wrong", *options).stdout)
    saved = json.loads(Path(command[1]).read_text())["finding"]["options"]
    assert saved == ["--op", f"{(folder / 'cli_ops.py').resolve()}:double", "--promise", "compute=float16"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"oracle": "no_such"}, "there are bounds, written"),
        ({"call": {"arguments": [], "axes": {}}}, "double takes (x)"),
        ({"call": {"arguments": [["x", {"tensor": {}}]]}}, "cannot be built"),
        (
            {"call": {"arguments": [
                ["x", {"tensor": {"shape": [1, 1], "dtype": "float32", "values": {"pattern": "plaid"}}}]
            ]}},
            "plaid",
        ),
    ],
)  # fmt: skip
def test_a_finding_that_cannot_be_judged_is_not_gone(change: dict[str, object], words: str, folder: Path) -> None:
    command = printed_command(check("wrong").stdout)
    document = json.loads(Path(command[1]).read_text())
    document["finding"].update(change)
    Path(command[1]).write_text(json.dumps(document))
    result = run(*command)
    assert result.exit_code == UNUSABLE, result.output
    assert words in result.stderr


def test_a_kernel_that_raises_on_the_call_is_not_repaired(folder: Path) -> None:
    command = printed_command(check("wrong").stdout)
    result = run(*["cli_kernels.py:raises" if word == "cli_kernels.py:wrong" else word for word in command])
    assert result.exit_code == FINDINGS, result.output
    assert "no such block" in result.stdout


def test_replay_says_where_the_file_is_no_finding(folder: Path) -> None:
    (folder / "x.json").write_text("{}")
    result = run("replay", "x.json")
    assert result.exit_code == UNUSABLE
    assert "is not a saved finding" in result.output
