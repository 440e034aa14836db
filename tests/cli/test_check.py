"""`conformance check`: exit codes, findings, and errors for the one who called."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import OPS, ROOT, check, run, start

from conformance.cli import FINDINGS, OK, UNUSABLE


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
    (folder / "results").mkdir()
    result = check("takes_a_folder_away", "--json", "results/results.json")
    assert result.exit_code == UNUSABLE
    assert "Worst element" in result.stdout
    assert result.stderr.endswith("Error: results/results.json: there is no folder results: make it first\n")


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The result of pytest in the folder."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conformance.plugin", *options],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])},
    )  # fmt: skip


def test_pytest_ends_with_a_warning_where_findings_cannot_be_saved(folder: Path) -> None:
    (folder / ".conformance").write_text("a file")
    (folder / "test_it.py").write_text(
        "from cli_ops import double\nfrom cli_kernels import wrong\ntest_double = double.conformance(wrong)\n"
    )
    done = run_pytest(
        folder, "-k", "launch", "--conformance-examples", "10", "--conformance-json", "results.json", "test_it.py"
    )
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


PTX = """
extern "C" __global__ void in_ptx(const float* x, float* out, int n) {
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    for (int i = lane; i < n; i += 32) out[i] = 2 * x[i];
}
extern "C" __global__ void beyond(const float* x, float* out, int n) {
    for (int i = threadIdx.x; i <= n; i += 32) out[i] = 2 * x[i];
}
"""

PTX_LAUNCHERS = """
import torch
from kernels_cuda import launcher


def launch(name, x):
    out = torch.empty(x.shape)
    if x.numel():
        launcher.load("ptx.cu").launch(name, 1, 32, (x.contiguous(), out, x.numel()))
    return out


def kernel(x):
    return launch("in_ptx", x)


def wraps_the_error(x):
    try:
        return launch("in_ptx", x)
    except Exception as error:
        raise RuntimeError("the kernel does not work") from error


def wrong_where_it_can_be_judged(x):
    return launch("in_ptx" if x.numel() > 100 else "beyond", x)
"""


@pytest.fixture
def ptx(folder: Path) -> Path:
    """The folder with launchers of kernels, one of which has inline PTX."""
    (folder / "ptx.cu").write_text(PTX)
    (folder / "ptx.py").write_text(PTX_LAUNCHERS)
    sys.modules.pop("ptx", None)
    return folder


@pytest.mark.parametrize("isolate", ["never", "always"])
@pytest.mark.parametrize("kernel", ["kernel", "wraps_the_error"])
def test_inline_ptx_is_skipped_with_the_reason_and_no_crash_of_the_kernel(kernel: str, isolate: str, ptx: Path) -> None:
    options = ("--op", "cli_ops.py:double", "--examples", "15", "--oracle", "launch", "--isolate", isolate)
    result = run("check", f"ptx.py:{kernel}", *options)
    assert result.exit_code == UNUSABLE, result.output
    assert "skipped 1: cannot be judged on a CPU: inline PTX `mov.u32 %0, %%laneid;` (ptx.cu:4): " in result.stdout
    assert "nothing ran" in result.stderr
    assert not (ptx / ".conformance").exists()


def test_what_can_be_judged_of_a_kernel_with_inline_ptx_is_objected_to(ptx: Path) -> None:
    options = ("--op", "cli_ops.py:double", "--examples", "30", "--oracle", "launch")
    result = run("check", "ptx.py:wrong_where_it_can_be_judged", *options, "--json", "results.json")
    assert result.exit_code == FINDINGS, result.output
    (report,) = json.loads((ptx / "results.json").read_text())["reports"]
    assert "crash" not in {finding["oracle"] for finding in report["findings"]}
    assert report["results"][0]["examples"] < 30  # those that were judged


def test_pytest_skips_what_cannot_be_judged_with_the_reason(ptx: Path) -> None:
    (ptx / "test_it.py").write_text(
        "from cli_ops import double\nfrom ptx import kernel\ntest_double = double.conformance(kernel)\n"
    )
    done = run_pytest(ptx, "-rs", "-k", "launch", "--conformance-examples", "10", "test_it.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^SKIPPED .*: cannot be judged on a CPU: inline PTX `mov", done.stdout, re.MULTILINE)
    assert "skipped 1: cannot be judged on a CPU: inline PTX" in done.stdout


def test_a_kernel_that_cannot_be_judged_is_not_mutated(ptx: Path) -> None:
    result = run("mutate", "ptx.py:kernel", "--op", "cli_ops.py:double", "--examples", "5", "--jobs", "1")
    assert result.exit_code == UNUSABLE, result.output
    assert "does not pass unchanged (nothing ran: cannot be judged on a CPU: inline PTX" in result.output


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
        (["cli_kernels.py:right", "--against", "cli_ops.py:nothing"], "has no 'nothing'; it has double, reference"),
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


def test_a_fault_that_shows_in_two_dtypes_is_shown_whole_once(folder: Path) -> None:
    options = ("--dtype", "float32", "--dtype", "float16", "--examples", "15", "--oracle", "launch")
    judge = ("--against", "cli_ops.py:reference", "--example", "torch.randn(4, 8)")
    output = run("check", "cli_kernels.py:wrong", *judge, *options).stdout
    assert output.count("Minimal call") == 1
    assert len(re.findall(r"^the same again, accuracy: .*; saved as ", output, re.MULTILINE)) == 1


def test_promised_dtypes_are_those_of_the_kernel_and_the_others_must_be_refused(folder: Path) -> None:
    (folder / "cli_ops.py").write_text(OPS.replace("dtypes=(torch.float32,)", "dtypes=kst.FLOATS"))
    sys.modules.pop("cli_ops", None)
    options = ("--op", "cli_ops.py:double", "--examples", "15", "--oracle", "refusals", "--promise", "dtypes=float32")
    result = run("check", "cli_kernels.py:right", *options)
    assert result.exit_code == FINDINGS, result.output
    assert "is not promised: the kernel computed a result" in result.output


def test_a_kernel_is_checked_against_a_torch_function_by_one_example(folder: Path) -> None:
    options = ("--examples", "15", "--oracle", "launch", "--dtype", "float32", "--example", "torch.randn(4, 8)")
    right = run("check", "cli_kernels.py:right", "--against", "cli_ops.py:reference", *options)
    assert right.exit_code == OK, right.output
    assert "x=kst.tensors('size_4', 'size_8', dtypes=kst.FLOATS)" in right.stderr
    wrong = run("check", "cli_kernels.py:wrong", "--against", "cli_ops.py:reference", *options)
    assert wrong.exit_code == FINDINGS, wrong.output
