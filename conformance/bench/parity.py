"""`python -m conformance.bench.parity record|compare FILE`: the four kernels in the interpreter, then on a GPU."""

from __future__ import annotations

import sys

from conformance import runtime
from conformance.bench import gpu
from conformance.case import dtype_name
from conformance.device import parity

EXAMPLES = 200
USAGE = "python -m conformance.bench.parity record|compare FILE"


def record(path: str, *, examples: int = EXAMPLES, seed: int = 0) -> int:
    """The number of records that are now in the file."""
    records = []
    for trial, dtype in gpu.trials():
        records += parity.record(trial, dtype, examples=examples, seed=seed)
    parity.write(path, records)
    return len(records)


def compare(path: str) -> list[str]:
    """The disagreements between the file and the kernels as they run here, in words."""
    trials = {trial.name: trial for trial, _ in gpu.trials()}
    found = []
    for known in parity.read(path):
        for objection in parity.compare(trials[known.kernel], known):
            dtypes = ", ".join(dict.fromkeys(dtype_name(t.dtype) for t in known.call.tensors.values()))
            found.append(f"{known.kernel} {dtypes}: {objection.summary}\n    {known.call!r}")
    return found


def main(arguments: list[str]) -> int:
    """0 where all went well, 1 for a disagreement, 2 for wrong use."""
    if len(arguments) != 2 or arguments[0] not in ("record", "compare"):
        print(USAGE, file=sys.stderr)
        return 2
    if arguments[0] == "record":
        print(f"{record(arguments[1])} calls recorded with the runtime {runtime.current()}")
        return 0
    found = compare(arguments[1])
    print("\n".join(found))
    print(f"{len(parity.read(arguments[1]))} calls compared with the runtime {runtime.current()}, {len(found)} differ")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
