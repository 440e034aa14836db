from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conformance.cli import FINDINGS, OK, UNUSABLE, main
from conformance.report.explanations import ORACLES

ROOT = Path(__file__).resolve().parents[1]

OPS = """
import torch
import strategies as kst
from conformance import Op

double = Op(lambda x: x * 2, {"x": kst.tensors("rows", "cols", dtypes=(torch.float32,))}, name="double")


def reference(x):
    return x * 2
"""

REFERENCE_THAT_EXITS = "def reference(x):\n    import sys\n    sys.exit(0)\n\n\n"

KERNELS = """
import os, sys, threading, time
import torch

def right(x):
    return x * 2

def wrong(x):
    out = x * 2
    if x.shape[-1] % 8:
        out[..., x.shape[-1] // 8 * 8:] = 0.5
    return out

def prints(x):
    print("hello from the kernel")
    print("and to stderr", file=sys.stderr)
    return x * 2

def exits(x):
    sys.exit(3)

def gives_tuple(x):
    return (x * 2, x)

def gives_none(x):
    x * 2

def gives_array(x):
    return (x * 2).numpy()

def needs_gpu(x):
    return x * torch.full((), 2.0, device="cuda")

def starts_thread(x):
    if not any(thread.name == "left" for thread in threading.enumerate()):
        threading.Thread(target=time.sleep, args=(600,), name="left").start()
    return x * 2

def prints_in_c(x):
    os.write(1, b"hello from C")
    return x * 2

def ends_the_process(x):
    os._exit(0)

def raises(x):
    raise KeyError("no such block")

def slow(x):
    open("running", "w").close()
    time.sleep(0.01)
    return x * 2

not_a_function = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with ops and kernels, in which commands run."""
    (tmp_path / "cli_ops.py").write_text(OPS)
    (tmp_path / "cli_kernels.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    for name in ("cli_ops", "cli_kernels"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def run(*arguments: str) -> Result:
    """The result of a command; an exception that is no exit is raised."""
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def check(kernel: str, *more: str) -> Result:
    """The result of checking a kernel of the folder with few examples."""
    options = ("--op", "cli_ops.py:double", "--examples", "15", "--oracle", "launch")
    return run("check", f"cli_kernels.py:{kernel}", *options, *more)


def test_a_right_kernel_gives_exit_code_0(folder: Path) -> None:
    result = check("right")
    assert result.exit_code == OK, result.output
    assert "15 examples over 1 kernel: no objection" in result.output


def test_a_wrong_kernel_gives_exit_code_1_and_findings_in_files(folder: Path) -> None:
    result = check("wrong", "--json", "results.json")
    assert result.exit_code == FINDINGS, result.output
    assert "Worst element" in result.output
    document = json.loads((folder / "results.json").read_text())
    assert document["schema"] == 1
    assert [path.name.split("-")[2] for path in (folder / ".conformance/findings").iterdir()] == ["accuracy"]


def test_findings_that_cannot_be_saved_are_shown_and_in_the_results(folder: Path) -> None:
    (folder / ".conformance").write_text("a file")
    result = check("wrong", "--json", "results.json")
    assert result.exit_code == FINDINGS, result.output
    assert "Worst element" in result.stdout
    assert result.stderr.count("could not be saved in .conformance/findings") == 1
    assert json.loads((folder / "results.json").read_text())["reports"][0]["findings"]


def test_results_that_cannot_be_written_do_not_hide_the_findings(folder: Path) -> None:
    (folder / "file").write_text("")
    result = check("wrong", "--json", "file/results.json")
    assert result.exit_code == UNUSABLE
    assert "Worst element" in result.stdout
    assert "Error: file/results.json: " in result.stderr


def test_pytest_ends_with_a_warning_where_findings_cannot_be_saved(folder: Path) -> None:
    (folder / ".conformance").write_text("a file")
    (folder / "test_it.py").write_text(
        "from cli_ops import double\nfrom cli_kernels import wrong\ntest_double = double.conformance(wrong)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conformance.plugin", "-k", "launch",
         "--conformance-examples", "10", "--conformance-json", "results.json", "test_it.py"],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 of 1 finding could not be saved" in done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr
    # the finding is shown as it is, without a traceback of the suite, and in one line
    assert "raise_findings" not in done.stdout
    assert "\n  oracle  accuracy\n" in done.stdout
    assert re.search(r"FAILED test_it.py::test_double\[any-launch\] - accuracy: ", done.stdout)
    assert json.loads((folder / "results.json").read_text())["reports"][0]["findings"]


def test_the_results_on_standard_output_are_json_alone(folder: Path) -> None:
    result = check("prints", "--json", "-")
    assert json.loads(result.stdout)["reports"][0]["kernel"].endswith("prints")


def test_what_a_kernel_prints_is_kept_apart_and_said(folder: Path) -> None:
    result = check("prints")
    assert result.exit_code == OK
    assert "the kernel printed" in result.stderr
    assert "hello from the kernel" not in result.stdout


def test_what_c_code_prints_is_kept_out_of_the_results(folder: Path) -> None:
    process = start(folder, "prints_in_c", "--examples", "5", "--json", "-")
    stdout, stderr = process.communicate(timeout=120)
    assert json.loads(stdout)["reports"][0]["kernel"].endswith("prints_in_c")
    assert "hello from C" in stderr


def test_a_kernel_that_ends_the_process_is_objected_to(folder: Path) -> None:
    process = start(folder, "ends_the_process", "--examples", "5")
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == FINDINGS, stderr
    assert "the kernel ended the process that judged it (exit code 0)" in stderr
    assert "crash: the process that ran the call was left with exit code 0" in stdout


def test_a_cuda_kernel_without_a_compiler_is_skipped_and_not_objected_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conformance.emulator import toolchain

    def missing(x: object) -> object:
        return toolchain.compiler()

    monkeypatch.setenv("CONFORMANCE_CXX", "no-such-compiler")
    toolchain.compiler.cache_clear()
    monkeypatch.setattr("conformance.targets.load_kernel", lambda target: missing)
    result = check("right")
    toolchain.compiler.cache_clear()
    assert result.exit_code == UNUSABLE, result.output
    assert "skipped 1: CUDA kernels run on the CPU through a C++17 compiler" in result.stdout
    assert "nothing ran" in result.stderr


@pytest.mark.parametrize("kernel", ["exits", "gives_none", "gives_array", "gives_tuple", "raises"])
def test_a_kernel_that_ends_or_returns_no_tensor_is_objected_to(kernel: str, folder: Path) -> None:
    result = check(kernel)
    assert result.exit_code == FINDINGS, result.output
    assert "Traceback" not in result.output


def test_a_kernel_that_needs_a_gpu_is_no_finding(folder: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device, so the kernel has what it needs")
    result = check("needs_gpu")
    assert result.exit_code == UNUSABLE, result.output
    assert "needs a GPU" in result.stderr
    assert "oracle  crash" not in result.stdout
    assert not (folder / ".conformance").exists()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def kernel(x:\n    return x\n", "broken.py:1: syntax error"),
        ("import no_such_package_anywhere\n", "ModuleNotFoundError: No module named 'no_such_package_anywhere'"),
        ("import sys\nsys.exit(5)\n", "calls sys.exit(5) while it is imported"),
        ("x = 1 / 0\n", "ZeroDivisionError: division by zero at"),
        (
            "import torch\nraise RuntimeError('Found no NVIDIA driver on your system')\n",
            "needs a GPU while it is imported",
        ),
        ("def kernels(x):\n    return x\n", "did you mean 'kernels'?"),
        ("kernel = 3\n", "is a int and cannot be called"),
        ("import triton\n@triton.jit\ndef kernel(x):\n    pass\n", "give its launcher"),
        ("print('noise')\ndef kernel(x, y, z):\n    return x\n", "cannot take the arguments of double"),
    ],
)
def test_a_file_that_cannot_be_used_gives_exit_code_2_and_the_reason(source: str, words: str, folder: Path) -> None:
    (folder / "broken.py").write_text(source)
    sys.modules.pop("broken", None)
    result = run("check", "broken.py:kernel", "--op", "cli_ops.py:double")
    assert result.exit_code == UNUSABLE, result.output
    assert words in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cli_kernels.py:right"], "does not say what it computes"),
        (["cli_kernels.py:right", "--op", "softmux"], "did you mean softmax?"),
        (["cli_kernels.py:right", "--op", "cli_ops.py:reference"], "not an Op"),
        (["cli_kernels.py:right", "--op", "softmax", "--against", "torch:softmax"], "is given two contracts"),
        (["cli_kernels.py:right", "--against", "cli_ops.py:nothing"], "has no 'nothing'"),
        (["cli_kernels.py:right", "--against", "cli_ops.py:reference", "--example", "torch.rand("], "is no argument"),
        (["cli_kernels.py:nothing", "--op", "softmax"], "has no 'nothing'"),
        (["nowhere.py:right", "--op", "softmax"], "there is no file nowhere.py"),
        (["no_such_module:right", "--op", "softmax"], "there is no module 'no_such_module'"),
        (["cli_kernels:right:more", "--op", "softmax"], "there is no module"),
        (["cli_kernels.py", "--op", "softmax"], "does not say which function"),
        (["cli_kernels.py:right", "--against", "torch.mul"], "did you mean torch:mul?"),
        (["cli_kernels.py:right", "--against", "torch:mul"], "--example once for each argument"),
        (["nowhere.cu:right", "--op", "softmax"], "there is no file nowhere.cu"),
        (["cli_kernels.py:right", "--op", "cli_ops.py:double", "--dtype", "float7"], "no torch dtype"),
        (["cli_kernels.py:right", "--op", "cli_ops.py:double", "--dtype", "float16"], "has no dtype float16"),
        (["cli_kernels.py:right", "--op", "cli_ops.py:double", "--oracle", "lunch"], "'lunch' is no lane"),
        (["cli_kernels.py:right", "--op", "cli_ops.py:double", "--promise", "speed=high"], "the promises are"),
    ],
)
def test_wrong_use_gives_exit_code_2_and_says_what_to_change(arguments: list[str], words: str, folder: Path) -> None:
    result = run("check", *arguments)
    assert result.exit_code == UNUSABLE, result.output
    assert words in result.output
    assert "Traceback" not in result.output


def test_a_cu_file_stands_for_the_launcher_beside_it(folder: Path) -> None:
    (folder / "scale.cu").write_text('extern "C" __global__ void scale() {}')
    result = run("check", "scale.cu:scale", "--op", "cli_ops.py:double")
    assert result.exit_code == UNUSABLE
    assert "has no launcher beside it: scale.py" in result.output
    (folder / "scale.py").write_text("def scale(x):\n    return x * 2\n")
    sys.modules.pop("scale", None)
    options = ("--op", "cli_ops.py:double", "--examples", "5", "--oracle", "launch")
    assert run("check", "scale.cu:scale", *options).exit_code == OK


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


def test_a_fault_that_shows_in_two_dtypes_is_shown_whole_once(folder: Path) -> None:
    options = ("--dtype", "float32", "--dtype", "float16", "--examples", "15", "--oracle", "launch")
    judge = ("--against", "cli_ops.py:reference", "--example", "torch.randn(4, 8)")
    output = run("check", "cli_kernels.py:wrong", *judge, *options).stdout
    assert output.count("Minimal call") == 1
    assert len(re.findall(r"^the same again, accuracy: .*; saved as ", output, re.MULTILINE)) == 1


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


def test_results_become_a_page(folder: Path) -> None:
    check("wrong", "--json", "one.json")
    check("right", "--json", "two.json")
    result = run("report", "one.json", "two.json", "-o", "out.html")
    assert result.exit_code == OK
    assert "out.html: 2 reports" in result.output
    assert "one.md: 1 report\n" in run("report", "one.json", "-o", "one.md").output
    assert " over 1 kernel in " in (folder / "one.md").read_text()
    page = (folder / "out.html").read_text()
    assert "cli_kernels.wrong" in page
    assert "cli_kernels.right" in page


def test_every_oracle_is_explained() -> None:
    for oracle in ORACLES:
        result = run("explain", oracle)
        assert result.exit_code == OK
        assert "Repair" in result.output


def test_an_op_is_explained() -> None:
    result = run("explain", "softmax")
    assert result.exit_code == OK, result.output
    assert "torch.softmax" in result.output


def test_an_unknown_name_is_explained_by_what_there_is() -> None:
    result = run("explain", "bound")
    assert result.exit_code == UNUSABLE
    assert "bounds" in result.output


def test_list_has_ops_kernels_oracles_and_promises() -> None:
    result = run("list")
    assert result.exit_code == OK, result.output
    for word in ("softmax", "kernels_triton.softmax", "batch_invariance", "accumulator"):
        assert word in result.output


def test_doctor_says_what_is_here_and_what_is_skipped(folder: Path) -> None:
    result = run("doctor")
    assert result.exit_code == OK, result.output
    assert "torch" in result.output
    assert "kipped here" in result.output


def test_doctor_sees_a_second_package_of_our_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "strategies").mkdir()
    (folder / "strategies/__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(folder))
    result = run("doctor")
    assert result.exit_code == UNUSABLE
    assert "package strategies" in result.output


def test_doctor_takes_the_command_for_no_second_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "conformance").write_text("#!/usr/bin/env python\n")
    monkeypatch.syspath_prepend(str(folder))
    assert "package conformance" not in run("doctor").output


def test_another_package_in_the_place_of_ours_is_named(folder: Path) -> None:
    (folder / "strategies.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", "import conformance"], capture_output=True, text=True, check=False, timeout=120,
        cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), *sys.path[1:]])},
    )  # fmt: skip
    assert f"`strategies` is {folder / 'strategies.py'} here, not the package of triton-conformance" in done.stderr


def test_a_reader_that_stops_is_no_error(folder: Path) -> None:
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m conformance list | head -1", shell=True, capture_output=True, text=True,
        check=False, timeout=120, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
    )  # fmt: skip
    assert done.stdout == "ops\n"
    assert "roken pipe" not in done.stderr


def test_doctor_names_the_repairs_of_the_interpreter_and_the_tools_of_the_emulator(folder: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device, so nothing is interpreted")
    output = run("doctor").output
    assert re.search(r"interpreter +ours; repairs in force: arithmetic, .*truth", output)
    assert re.search(r"emulator +.*(g\+\+|clang)", output)
    assert re.search(r"fence +not needed", output)


def test_doctor_says_that_cuda_kernels_are_skipped_without_a_compiler(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conformance.emulator import toolchain

    monkeypatch.setenv("CONFORMANCE_CXX", "no-such-compiler")
    toolchain.compiler.cache_clear()
    result = run("doctor")
    toolchain.compiler.cache_clear()
    assert "$CONFORMANCE_CXX names 'no-such-compiler', which is not on the path" in result.output


def test_a_benchmark_writes_its_figures_and_says_where_it_cannot_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from conformance.bench import numerics

    calls: list[tuple[str | None, int]] = []
    monkeypatch.setattr(numerics, "main", lambda json_path, launches=0: calls.append((json_path, launches)))
    assert run("bench", "numerics", "--json", "x.json", "--launches", "7").exit_code == OK
    assert calls == [("x.json", 7)]
    wrong = run("bench", "emulator", "--launches", "7")
    assert wrong.exit_code == UNUSABLE
    assert "--launches is an option of `conformance bench numerics`" in wrong.output
    if not torch.cuda.is_available():
        result = run("bench", "gpu")
        assert result.exit_code == UNUSABLE
        assert "torch sees none" in result.output
    monkeypatch.setattr("importlib.import_module", _missing)
    result = run("bench", "detection")
    assert result.exit_code == UNUSABLE
    assert "the benchmark detection is not part of this version" in result.output


def _missing(name: str) -> None:
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_promised_dtypes_are_those_of_the_kernel_and_the_others_must_be_refused(folder: Path) -> None:
    (folder / "cli_ops.py").write_text(OPS.replace("dtypes=(torch.float32,)", "dtypes=kst.FLOATS"))
    sys.modules.pop("cli_ops", None)
    options = ("--op", "cli_ops.py:double", "--examples", "15", "--oracle", "refusals", "--promise", "dtypes=float32")
    result = run("check", "cli_kernels.py:right", *options)
    assert result.exit_code == FINDINGS, result.output
    assert "is not promised: the kernel computed a result" in result.output


def test_help_shows_how_a_kernel_is_checked() -> None:
    assert "conformance check my_kernels.py:softmax --op softmax" in run("--help").output


def start(folder: Path, kernel: str, *more: str) -> subprocess.Popen[str]:
    """A check in a process of its own."""
    command = [sys.executable, "-m", "conformance", "check", f"cli_kernels.py:{kernel}", "--op", "cli_ops.py:double"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path[1:]])}
    return subprocess.Popen(
        [*command, "--oracle", "launch", *more], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # a test run that a shell started in the background ignores SIGINT, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def test_threads_that_a_kernel_leaves_behind_do_not_keep_the_command_alive(folder: Path) -> None:
    process = start(folder, "starts_thread", "--examples", "5")
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == OK, stderr
    assert "that the kernel started still run" in stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupt_keeps_what_was_found(number: signal.Signals, folder: Path) -> None:
    process = start(folder, "slow", "--examples", "100000", "--json", "results.json")
    deadline = time.monotonic() + 120
    while not (folder / "running").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
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


def test_a_kernel_is_checked_against_a_torch_function_by_one_example(folder: Path) -> None:
    options = ("--examples", "15", "--oracle", "launch", "--dtype", "float32", "--example", "torch.randn(4, 8)")
    right = run("check", "cli_kernels.py:right", "--against", "cli_ops.py:reference", *options)
    assert right.exit_code == OK, right.output
    assert "x=kst.tensors('size_4', 'size_8', dtypes=kst.FLOATS)" in right.stderr
    wrong = run("check", "cli_kernels.py:wrong", "--against", "cli_ops.py:reference", *options)
    assert wrong.exit_code == FINDINGS, wrong.output


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
