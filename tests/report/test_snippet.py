from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from report_samples import call

import strategies as kst
from conformance import Op
from conformance.report.snippet import locate, locate_value, script

DOUBLE = Op(lambda x: x * 2, {"x": kst.tensors("n")}, name="double")
CALL = kst.Call.from_json(call(2, 3, strides=(5, 1)))
KERNELS = """
import os

import torch


def twice(x, scale, mask):
    assert os.environ.get("TRITON_INTERPRET") == "1", "kernels are imported before the runtime is chosen"
    return x * scale * 4


def reference(x, *, scale, mask):
    return x * scale * 2


def add_in_place(x, scale, mask):
    x += scale
"""


def op(reference: Any, names: tuple[str, ...] = ("x", "scale", "mask"), mutates: tuple[str, ...] = ()) -> Any:
    inputs = {"x": kst.tensors("rows", "cols"), "scale": kst.scales(), "mask": kst.scales()}
    made = Op(reference, {name: inputs[name] for name in names}, name="double")
    made.mutates = mutates
    return made


def run(text: str, folder: Path) -> str:
    """What the program prints when it is run alone, in an empty folder."""
    file = folder / "reproduce.py"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=120, cwd=folder, check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return done.stdout


def test_a_script_runs_alone_and_prints_both_results(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    where = f"{tmp_path / 'kernels.py'}"

    def reference(x: torch.Tensor, *, scale: float, mask: object) -> torch.Tensor:
        return x

    printed = run(
        script(f"{where}:twice", CALL, op(reference), reference=f"{where}:reference", runtime="interpret"), tmp_path
    )
    kernel, _, expected = printed.partition("reference:")
    assert "0.1250" in kernel  # 1/16 of the ramp, times 0.5, times 4
    assert "0.0625" in expected


def test_a_script_needs_no_hypothesis_and_nothing_of_ours_for_a_kernel_of_yours() -> None:
    text = script("kernels:twice", CALL, op(torch.softmax), reference="torch:softmax", runtime="interpret")
    assert "hypothesis" not in text
    assert "conformance" not in text
    assert text.index("TRITON_INTERPRET") < text.index("import torch") < text.index("kernels")


def test_the_script_keeps_strides_and_offset() -> None:
    text = script("kernels:twice", CALL, op(torch.softmax), runtime="interpret", reference="torch:softmax")
    source = next(line for line in text.splitlines() if line.startswith("    x = "))
    assert eval(source.partition("=")[2], {"torch": torch}).stride() == (5, 1)


def test_a_script_for_a_gpu_does_not_interpret() -> None:
    text = script("kernels:twice", CALL, op(torch.softmax), runtime="gpu", reference="torch:softmax")
    assert "TRITON_INTERPRET" not in text
    assert "'cuda'" in text


def test_a_kernel_that_works_in_place_shows_what_it_changed(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    text = script(
        f"{tmp_path / 'kernels.py'}:add_in_place", CALL, op(lambda x, scale, mask: x + scale, mutates=("x",)),
        runtime="interpret", reference=f"{tmp_path / 'kernels.py'}:twice",
    )  # fmt: skip
    assert "0.5625" in run(text, tmp_path).partition("reference:")[0]


def test_the_reference_of_an_op_is_found_through_the_op() -> None:
    assert locate_value(DOUBLE) == f"{Path(__file__).resolve()}:DOUBLE"
    text = script("kernels:twice", CALL, DOUBLE, runtime="interpret")
    assert "reference = reference_module.DOUBLE.reference" in text


def test_what_cannot_be_imported_is_said_in_the_script(tmp_path: Path) -> None:
    assert locate(functools.partial(print, 1)) is None
    text = script(lambda x: x, CALL, DOUBLE, runtime="interpret")
    with pytest.raises(AssertionError, match=r"put .*lambda.* here"):
        run(text, tmp_path)


def test_meta_parameters_are_passed_by_keyword() -> None:
    text = script("k:k", CALL, op(torch.softmax), runtime="interpret", reference="torch:softmax", meta=(("BLOCK", 64),))
    assert "result = kernel(x, scale, mask, BLOCK=64)" in text


def test_cuda_kernels_get_the_emulator_on_a_cpu() -> None:
    text = script(
        "kernels_cuda.softmax:softmax", CALL, op(torch.softmax), runtime="interpret", reference="torch:softmax"
    )
    assert "runtime.prepare()" in text


def test_memory_that_nobody_wrote_never_looks_right(tmp_path: Path) -> None:
    where = tmp_path / "unwritten.py"
    where.write_text("import torch\n\n\ndef unwritten(x, *others):\n    return torch.empty_like(x)\n")
    made = op(torch.softmax)
    text = script(
        f"{where}:unwritten", CALL, made, reference=f"{where}:unwritten", runtime="interpret", oracle="written"
    )

    assert "nan" in run(text, tmp_path).partition("reference:")[0]
