"""Whether our interpreter computes, without its repairs, bit by bit what Triton's own does.

`conformance bench interpreter --identity N` runs N launches of the kernels that ship, in every dtype, on the calls of
the suite, matmul with drawn configs; stock and ours each in a process of its own, since both patch the same names.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

_OPS = ("vector_add", "softmax", "rms_norm", "matmul")
_BLOCKS = (16, 32, 64)
_SEED = 0


def compare(launches: int) -> dict[str, Any]:
    """How many launches ran, how many raised in both interpreters, and the names of those that differ."""
    processes = [_child(regime, launches) for regime in ("stock", "ours")]
    report: dict[str, Any] = {"launches": 0, "raised": 0, "different": []}
    for one, other in itertools.zip_longest(*[_lines(p) for p in processes]):
        report["launches"] += 1
        report["raised"] += one is not None and one[1].startswith("raised")
        if one != other:
            report["different"].append((one or other)[0])
    for process in processes:
        if process.wait():
            raise RuntimeError(f"a process of the comparison ended with exit code {process.returncode}")
    return report


def _child(regime: str, launches: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-m", "conformance.bench.identity", regime, str(launches)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def _lines(process: subprocess.Popen[str]) -> Iterator[tuple[str, str]]:
    assert process.stdout is not None
    for line in process.stdout:
        name, _, result = line.rstrip("\n").rpartition("\t")
        yield name, result


def sentence(report: dict[str, Any]) -> str:
    """The report in words."""
    different = report["different"]
    first = "".join(f"\n{name}" for name in different[:20])
    return (
        f"{report['launches']} launches in both interpreters, {report['raised']} raised in both: {len(different)} "
        f"differ{first}"
    )


def _run(launches: int) -> None:
    """Print the name of each launch and a digest of what it gave."""
    import kernels_triton
    from conformance import checking, lanes, ops
    from conformance.explore import explore
    from conformance.trial import Trial

    trials = [Trial(getattr(ops, name), getattr(kernels_triton, name)) for name in _OPS]
    ids = [(t, dtype) for t in trials for dtype in checking.choose_dtypes(t.op, t.promises, None)]
    left = launches
    for number, (trial, dtype) in enumerate(ids):
        share = left // (len(ids) - number)
        left -= share

        def show(call: Any, trial: Trial = trial, dtype: Any = dtype) -> list[Any]:
            print(f"{trial.name} {dtype} {call!r}\t{_digest(trial, call)}", flush=True)
            return []

        explore(lanes.LANES["launch"].draw(trial, dtype), show, examples=share, seed=_SEED)


def _digest(trial: Any, call: Any) -> str:
    import torch
    import triton

    from conformance.launch import invoke

    meta: tuple[tuple[str, Any], ...] = ()
    if trial.op.name == "matmul":
        draw = random.Random(repr(call))
        blocks = {f"BLOCK_{axis}": draw.choice(_BLOCKS) for axis in "MNK"}
        meta = (("config", triton.Config({**blocks, "GROUP_M": draw.randint(1, 8)})),)
    try:
        result = invoke(trial.kernel, call.build(), meta)
    except Exception as error:  # noqa: BLE001 - what one interpreter raises the other one has to raise
        return f"raised {type(error).__name__}"
    return hashlib.sha1(result.contiguous().ravel().view(torch.uint8).numpy().tobytes()).hexdigest()


if __name__ == "__main__":
    if sys.argv[1] == "ours":
        from conformance.interpreter import install

        install(repair=False)
    _run(int(sys.argv[2]))
