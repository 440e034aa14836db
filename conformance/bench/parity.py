"""The calls of the kernels that ship, run on the CPU and then on a GPU: both results must lie inside their bounds.

python -m conformance.bench.parity record FILE                           (on a machine without a GPU)
python -m conformance.bench.parity compare FILE --write docs/gpu-run.md  (on one with a GPU)

The CPU runs Triton kernels in the interpreter and CUDA sources in the emulator; the GPU runs what Triton and CuPy
compile.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence

from conformance import runtime, soak
from conformance.bench import section
from conformance.case import dtype_name
from conformance.device import parity
from conformance.trial import Trial

# Calls of each kernel in each dtype; the results of all of them make a file of some megabytes.
EXAMPLES = 50
SECTION = "parity"
COMMAND = "python -m conformance.bench.parity"


@dataclasses.dataclass
class Row:
    """The calls of one kernel that were compared, those that gave the same bits, and the disagreements in words."""

    calls: int = 0
    same_bits: int = 0
    objections: list[str] = dataclasses.field(default_factory=list)


def items() -> list[soak.Item]:
    """Each shipped kernel in each dtype that its test judges."""
    return [item for item in soak.items() if item.lane == "launch"]


def record(path: str, *, examples: int = EXAMPLES, seed: int = 0) -> int:
    """The number of records that are now in the file."""
    records = []
    for item in items():
        records += parity.record(item.trial, item.dtype, examples=examples, seed=seed)
    parity.write(path, records)
    return len(records)


def compare(path: str) -> dict[str, Row]:
    """For each kernel, how the records of the file compare with what it gives here.

    Raises:
        ValueError: the file has a kernel that this version does not ship.
    """
    trials: dict[str, Trial] = {parity.key(item.trial): item.trial for item in items()}
    rows: dict[str, Row] = {}
    for known in parity.read(path):
        if known.kernel not in trials:
            raise ValueError(f"{path} has calls of {known.kernel}, which does not ship: record it again")
        found = parity.compare(trials[known.kernel], known)
        row = rows.setdefault(known.kernel, Row())
        row.calls += 1
        row.same_bits += found.same_bits
        for objection in found.objections:
            dtypes = ", ".join(dict.fromkeys(dtype_name(t.dtype) for t in known.call.tensors.values()))
            row.objections.append(f"{known.kernel} {dtypes}: {objection.summary}\n    {known.call!r}")
    return rows


def page(rows: dict[str, Row]) -> str:
    """The comparison as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in runtime.versions().items())
    calls, differ = sum(row.calls for row in rows.values()), sum(len(row.objections) for row in rows.values())
    lines = [
        f"`{COMMAND} compare`, against what the CPU gave: {calls:,} calls, **{differ} disagreements**. "
        f"Here: {versions}.",
        "",
        "| kernel | calls | the same bits | disagreements |",
        "|---|---|---|---|",
        *(f"| {name} | {row.calls} | {row.same_bits} | {len(row.objections)} |" for name, row in sorted(rows.items())),
    ]
    return "\n".join([*lines, *(f"\n- {each}" for row in rows.values() for each in row.objections)])


def main(argv: Sequence[str] | None = None) -> int:
    """0 where all went well, 1 for a disagreement, 2 for wrong use."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Compare kernels on the CPU with the same on a GPU.")
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", help="the calls and results")
    parser.add_argument("--examples", type=int, default=EXAMPLES, metavar="N", help="calls for each kernel and dtype")
    parser.add_argument("--write", metavar="PAGE", help=f"put the table into the section `{SECTION}` of a page")
    options = parser.parse_args(argv)
    if options.action == "record":
        print(f"{record(options.file, examples=options.examples)} calls recorded with the runtime {runtime.current()}")
        return 0
    rows = compare(options.file)
    print(page(rows))
    if options.write is not None:
        section.put(options.write, SECTION, page(rows))
    return int(any(row.objections for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
