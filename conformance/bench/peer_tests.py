"""The tests that each published tool is used for, run in its environment and under its command by `peers`.

`gpucheck` brings shapes, values and a comparison; `tilelens` and `ttsem` watch memory, and are given the calls of the
regime of `hypothesis.extra.numpy`, which under `ttsem` is the strongest stack that can be had without this suite.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from conformance import runtime
from conformance.bench.attempts import attempt
from conformance.bench.rival_regimes import (
    MOST,
    Arguments,
    Regime,
    Spent,
    allclose,
    arguments_of,
    call_of,
    dtypes_of,
    numpy_arrays,
)
from conformance.faults import FAULTS
from conformance.op import Op
from conformance.promises import Promises
from strategies import TensorDescription

# Its kinds of values, those first that are wrong in kernels most often.
_KINDS = (
    "sprinkled_nan", "sprinkled_neg_inf", "max_val", "neg_ones", "sprinkled_inf", "mixed_normal_edge", "min_val",
    "zeros", "ones", "uniform", "near_overflow", "near_neg_overflow", "one_plus_eps", "epsilon", "smallest_normal",
    "neg_zero", "denormal", "neg_denormal",
)  # fmt: skip


def _gpucheck_calls(op: Op, promises: Promises, spent: Spent) -> Iterator[tuple[str, Arguments]]:
    """Its fuzzed shapes, the degenerate ones and those at tile edges first, each with normal values and with two of its
    edge cases in turn; a test for each dtype and kind of values."""
    from gpucheck.fuzzing.shapes import fuzz_shapes

    torch.manual_seed(0)
    names = sorted(op.axis_names())
    largest = min(4096, int(MOST ** (1 / max(len(names), 1))))
    kinds = itertools.cycle(_KINDS)
    for shape in fuzz_shapes(ndim=len(names), max_size=largest, n=2000, seed=0):
        chosen = ("normal", next(kinds), next(kinds))
        for dtype in dtypes_of(op, promises, torch.float32, torch.float16):
            call = call_of(op, promises, dtype, dict(zip(names, shape, strict=True)))
            if call is None:
                continue
            for kind in chosen:
                yield f"{dtype}-{kind}", arguments_of(call, functools.partial(_gpucheck_values, kind=kind))
        if spent():
            return


def _gpucheck_values(value: TensorDescription, kind: str) -> torch.Tensor:
    from gpucheck.fuzzing.inputs import mixed_inputs, random_inputs

    normal: torch.Tensor = random_inputs(value.shape, value.dtype)
    # small tensors have no mixed values, and dtypes with a wide exponent no subnormal ones
    return normal if kind == "normal" else dict(mixed_inputs(value.shape, value.dtype)).get(kind, normal)


def _gpucheck_close(got: torch.Tensor, expected: torch.Tensor, arguments: Arguments) -> bool:
    from gpucheck import assert_close

    first = next(value for value in arguments.values() if isinstance(value, torch.Tensor))
    reduced = first.shape[-1] if first.dim() and {"a", "b"} <= set(arguments) else None
    try:
        assert_close(got, expected, k_dim=reduced, nan_equal=True)
    except AssertionError:
        return False
    return True


def _same_shape(got: torch.Tensor, expected: torch.Tensor, arguments: Arguments) -> bool:
    """All that can be asked where values are not computed."""
    return got.shape == expected.shape and got.dtype == expected.dtype


PEERS: dict[str, Regime] = {
    regime.name: regime
    for regime in (
        Regime("gpucheck", _gpucheck_calls, _gpucheck_close),
        Regime("tilelens", numpy_arrays, _same_shape),
        Regime("ttsem", numpy_arrays, allclose),
    )
}


def run(name: str, budgets: str, results: str) -> None:
    """Write the attempts of the peer, a JSON line each, at the faults for which the JSON file `budgets` has seconds."""
    if name == "gpucheck":
        runtime.prepare()  # our interpreter, which is ten times as quick as Triton's own; the others bring theirs
    known = {fault.name: fault for fault in FAULTS}
    with Path(results).open("w", encoding="utf-8") as file:
        for fault, budget in json.loads(Path(budgets).read_text(encoding="utf-8")).items():
            done = attempt(PEERS[name], known[fault], budget)
            file.write(json.dumps({"fault": fault, **dataclasses.asdict(done)}) + "\n")
            file.flush()


if __name__ == "__main__":
    run(*sys.argv[1:])
