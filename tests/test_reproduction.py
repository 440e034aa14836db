"""The script of a finding, run alone, shows what the finding says."""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import conformance
from conformance.failures import Finding
from conformance.faults import FAULTS
from conformance.report.explanations import ORACLES
from conformance.report.snippet import UNSEEN
from tests import reproduction_kernels

ROOT = Path(__file__).resolve().parents[1]
FAULT_OF = {fault.name: fault for fault in (*FAULTS, reproduction_kernels.relations, reproduction_kernels.refusals)}
#: A fault for each oracle that the interpreter can object with, and the lane that finds it. Every output but that for
#: `written` is written: what a script prints of other memory may be the right value by chance.
CASES = {
    "bounds": ("add_load_unmasked", "launch"),
    "written": ("add_missing_last_program", "launch"),
    "inputs_kept": ("add_in_place", "launch"),
    "accuracy": ("softmax_skips_last_column", "launch"),
    "special_values": ("softmax_nan_ignored", "special_values"),
    "metadata": ("add_wide_result", "launch"),
    "races": ("sum_not_atomic", "launch"),
    "offsets": ("add_int32_offsets", "offsets"),
    "determinism": ("rms_norm_address_seed", "determinism"),
    "layouts": ("add_stride_of_other", "layouts"),
    "batch_invariance": ("softmax_blocks_by_batch", "batch_invariance"),
    "configs": ("add_one_config_wrong", "configs"),
    "relations": ("first_row_only", "relations"),
    "refusals": ("never_refuses", "refusals"),
    "exact": ("matmul_k_starts_late", "exact"),
    "crash": ("softmax_no_columns", "launch"),
}
# Each script has a process of its own, since some kernels end theirs, forked from one that has imported torch already.
DRIVER = """
import os, runpy, sys
import conformance, triton
for path in sys.argv[1:]:
    if not (child := os.fork()):
        sys.stdout = open(path.replace(".py", ".txt"), "w", buffering=1)
        try:
            runpy.run_path(path)
        except Exception as error:
            print(f"raised {type(error).__name__}: {error}")
        os._exit(0)
    os.waitpid(child, 0)
"""


@functools.cache
def found(oracle: str) -> Finding:
    """A finding of the oracle in the fault that is made for it."""
    name, lane = CASES[oracle]
    fault = FAULT_OF[name]
    dtype = torch.float16 if name == "add_wide_result" else torch.float32  # the result is wide where inputs are narrow
    dtypes = [dtype] if dtype in fault.op.dtypes() else None
    promises = dataclasses.replace(fault.op.promises, **fault.promises)
    report = conformance.check(fault.kernel, fault.op, examples=100, oracles=[lane], dtypes=dtypes, promises=promises)
    return next(finding for finding in report.findings if finding.oracle == oracle)


@functools.cache
def printed(folder: Path) -> dict[str, str]:
    """What the scripts of all cases print, each written to a file and run without anything else of the test."""
    paths = []
    for oracle in CASES:
        paths.append(folder / f"{oracle}.py")
        paths[-1].write_text(found(oracle).script, encoding="utf-8")
    path = os.pathsep.join([str(ROOT), *sys.path[1:]])
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *map(str, paths)], capture_output=True, text=True, check=False, timeout=300,
        cwd=folder, env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {path.stem: path.with_suffix(".txt").read_text(encoding="utf-8") for path in paths}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


@pytest.mark.slow
def test_the_scripts_of_findings_show_them(folder: Path) -> None:
    # one test: what its parts share takes a minute, and workers of xdist share nothing
    texts = printed(folder)
    assert [oracle for oracle in CASES if not shows(oracle, texts[oracle])] == []
    assert not any("hypothesis" in found(oracle).script for oracle in CASES)


def shows(oracle: str, text: str) -> bool:
    """Whether what a script printed shows the finding of the oracle."""
    if oracle in UNSEEN or f"# what {oracle} sees" in found(oracle).script:
        return f"oracle  {oracle}" in text
    if oracle == "crash":
        return text.startswith("raised ")
    if oracle == "refusals":
        return text.startswith("kernel:")  # what should have been refused is computed
    kernel, _, reference = text.partition("reference:")
    return bool(reference) and kernel.removeprefix("kernel:").split() != reference.split()


def test_every_oracle_has_a_case_but_those_of_two_kernels_and_two_runtimes() -> None:
    assert set(CASES) == set(ORACLES) - {"agreement", "parity"}
