"""`python -m conformance bench numerics`: false alarms and detection of the bounds and of the tolerances in use.

Every input goes to the correct kernel, and every fifth to a faulty one besides; all oracles judge the same outputs. A
faulty launch counts as caught by a rival only if the rival passes the correct kernel on the same input.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from conformance.balls import enclose, judge
from conformance.bench import rivals
from conformance.bench.distributions import DISTRIBUTIONS, size, tensor
from conformance.promises import Promises

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
# float64 is slow in extended precision and has few faults of its own
SHARES = (0.35, 0.3, 0.3, 0.05)
FAULTY_EVERY = 5
EPS = 1e-6
ORACLES = ("bound", "assert_close", "liger", "flag_gems", "flash_attention")

REFERENCES: dict[str, Callable[..., torch.Tensor]] = {
    "add": lambda x, y: x + y,
    "softmax": lambda x: torch.softmax(x, dim=-1),
    "rms_norm": lambda x, w: functional.rms_norm(x, (x.shape[-1],), w, EPS),
    "layer_norm": lambda x, w, b: functional.layer_norm(x, (x.shape[-1],), w, b, EPS),
    "sum": lambda x: x.sum(-1),
    "matmul": lambda a, b: a @ b,
}
OPS = tuple(REFERENCES)


@dataclasses.dataclass
class Tally:
    """Counts of one run: launches, alarms and catches by oracle, ratios by op and dtype."""

    correct: int = 0
    faulty: int = 0
    differing: int = 0
    alarms: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    caught: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    by_dtype: dict[str, collections.Counter[str]] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(collections.Counter)
    )
    by_mistake: dict[str, collections.Counter[str]] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(collections.Counter)
    )
    worst: dict[str, float] = dataclasses.field(default_factory=dict)
    undecided: dict[str, list[int]] = dataclasses.field(default_factory=lambda: collections.defaultdict(lambda: [0, 0]))
    seconds: list[float] = dataclasses.field(default_factory=list)
    first_alarm: str = ""


def inputs_of(rng: np.random.Generator, op: str, distribution: str, dtype: torch.dtype) -> list[torch.Tensor]:
    """The arguments of `op`: sizes at block boundaries, values of one distribution (a second may have another)."""
    other = distribution if rng.random() < 0.7 else "normal"
    if op == "add":
        n = size(rng)
        return [tensor(rng, (n,), distribution, dtype), tensor(rng, (n,), other, dtype)]
    if op == "matmul":
        m, n, k = size(rng, 20), size(rng, 20), size(rng, 200)
        right = tensor(rng, (n, k), other, dtype).T.contiguous()
        return [tensor(rng, (m, k), distribution, dtype), right]
    rows, n = int(rng.integers(1, 4)), size(rng)
    out = [tensor(rng, (rows, n), distribution, dtype)]
    if op in ("rms_norm", "layer_norm"):
        out.append(tensor(rng, (n,), "normal" if rng.random() < 0.5 else "positive", dtype))
    if op == "layer_norm":
        out.append(tensor(rng, (n,), "normal", dtype))
    return out


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """True if two outputs are equal, NaN counting as itself."""
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def _midpoints(ball: Any) -> torch.Tensor:
    """The exact values as float64: those of a float64 kernel may lie beyond its range."""
    with np.errstate(over="ignore"):
        return torch.from_numpy(np.asarray(ball.mid, np.float64))


def opinions(
    op: str, got: torch.Tensor, expected: torch.Tensor, exact: torch.Tensor, inputs: list[torch.Tensor]
) -> dict[str, bool]:
    """For each rival, whether it passes `got`."""
    out = {name: check(op, got, expected, inputs) for name, check in rivals.RIVALS.items()}
    out["flash_attention"] = rivals.flash_attention(got, expected, exact)
    return out


def measure(launches: int, seed: int = 0, launch: Callable[..., torch.Tensor] | None = None) -> Tally:
    """The tally of `launches` correct launches in the interpreter, and a fifth as many faulty ones."""
    from conformance.bench import switchable  # imports Triton, which reads TRITON_INTERPRET

    run = switchable.launch if launch is None else launch
    rng = np.random.default_rng(seed)
    tally = Tally()
    promises = Promises()
    names = list(DISTRIBUTIONS)
    turn = collections.Counter[str]()
    while tally.correct < launches:
        op = OPS[tally.correct % len(OPS)]
        dtype = DTYPES[int(rng.choice(len(DTYPES), p=SHARES))]
        inputs = inputs_of(rng, op, names[int(rng.integers(len(names)))], dtype)
        good = run(op, inputs, 0)
        start = time.process_time()
        (ball,) = enclose(REFERENCES[op], inputs, promises)
        verdict = judge(good, ball, promises)
        tally.seconds.append(time.process_time() - start)
        tally.correct += 1
        key = f"{op}/{str(dtype)[6:]}"
        tally.worst[key] = max(tally.worst.get(key, 0.0), verdict.ratio)
        tally.undecided[key][0] += verdict.undecided
        tally.undecided[key][1] += verdict.total
        if not verdict.ok:
            tally.alarms["bound"] += 1
            tally.first_alarm = tally.first_alarm or f"{key} {[tuple(t.shape) for t in inputs]}: {verdict}"
        expected = REFERENCES[op](*inputs)
        exact = _midpoints(ball)
        passes = opinions(op, good, expected, exact, inputs)
        for name, ok in passes.items():
            tally.alarms[name] += not ok
        if tally.correct % FAULTY_EVERY == 0 and dtype is not torch.float64:
            turn[op] += 1
            _faulty(tally, run, op, 1 + turn[op] % len(switchable.MISTAKES[op]), inputs, good, ball, expected, passes)
    return tally


def _faulty(
    tally: Tally,
    run: Callable[..., torch.Tensor],
    op: str,
    fault: int,
    inputs: list[torch.Tensor],
    good: torch.Tensor,
    ball: Any,
    expected: torch.Tensor,
    passes: dict[str, bool],
) -> None:
    from conformance.bench.switchable import MISTAKES

    mistake = MISTAKES[op][fault - 1]
    if mistake == "truncating cast" and good.dtype is not torch.bfloat16:
        return  # the mistake cuts float32 to bfloat16's bits
    bad = run(op, inputs, fault)
    tally.faulty += 1
    if same(bad, good):
        return
    dtype = str(good.dtype)[6:]
    tally.differing += 1
    counters = (tally.by_dtype[dtype], tally.by_mistake[f"{op}: {mistake}"])
    caught = {"bound": not judge(bad, ball, Promises()).ok}
    exact = _midpoints(ball)
    for name, ok in opinions(op, bad, expected, exact, inputs).items():
        caught[name] = not ok and passes[name]
    for counter in counters:
        counter["differing"] += 1
    for name, hit in caught.items():
        tally.caught[name] += hit
        for counter in counters:
            counter[name] += hit


def report_of(tally: Tally) -> dict[str, Any]:
    """The tally as the JSON that `--json` writes."""
    return {
        "correct_launches": tally.correct,
        "faulty_launches": tally.faulty,
        "false_alarms": {name: tally.alarms[name] for name in ORACLES},
        "differing": tally.differing,
        "caught": {name: tally.caught[name] for name in ORACLES},
        "by_dtype": {dtype: dict(counts) for dtype, counts in sorted(tally.by_dtype.items())},
        "by_mistake": {mistake: dict(counts) for mistake, counts in sorted(tally.by_mistake.items())},
        "worst_ratio": dict(sorted(tally.worst.items())),
        "undecided": {key: part / max(whole, 1) for key, (part, whole) in sorted(tally.undecided.items())},
        "median_oracle_cpu_seconds": statistics.median(tally.seconds) if tally.seconds else 0.0,
        "first_alarm": tally.first_alarm,
    }


def table_of(report: dict[str, Any]) -> str:
    """The report as text."""
    differing = max(report["differing"], 1)
    lines = [
        f"{report['correct_launches']} correct launches, {report['differing']} of {report['faulty_launches']} faulty "
        "launches change the output",
        f"{'oracle':18s}{'false alarms':>14s}{'caught':>10s}{'of differing':>14s}",
    ]
    for name in ORACLES:
        caught = report["caught"][name]
        lines.append(f"{name:18s}{report['false_alarms'][name]:14d}{caught:10d}{100 * caught / differing:13.1f}%")
    lines.append("")
    lines.append(f"{'caught by dtype':18s}" + "".join(f"{name:>16s}" for name in ORACLES))
    for dtype, counts in report["by_dtype"].items():
        total = max(counts.get("differing", 0), 1)
        lines.append(f"{dtype:18s}" + "".join(f"{100 * counts.get(name, 0) / total:15.1f}%" for name in ORACLES))
    lines.append("")
    lines.append(
        "worst error over bound of a correct kernel: "
        + ", ".join(f"{key} {ratio:.2f}" for key, ratio in report["worst_ratio"].items())
    )
    lines.append(
        f"median cost of the bound: {1e3 * report['median_oracle_cpu_seconds']:.2f} ms of processor time a launch"
    )
    if report["first_alarm"]:
        lines.append(f"first alarm: {report['first_alarm']}")
    return "\n".join(lines)


def main(json_path: str | None, launches: int = 100_000) -> None:
    """Print the table, and write the JSON to `json_path` if given."""
    os.environ.setdefault("TRITON_INTERPRET", "1")
    from conformance.interpreter import install

    install()
    report = report_of(measure(launches))
    print(table_of(report))
    if json_path is not None:
        Path(json_path).write_text(json.dumps(report, indent=2) + "\n")
