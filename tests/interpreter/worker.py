"""A process that runs cases: `python -m tests.interpreter.worker stock|plain`, one JSON request a line.

Stock and our interpreter patch the same names, so each has a process of its own.
"""

from __future__ import annotations

import json
import os
import random
import sys


def main(mode: str) -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    if mode == "plain":
        from conformance.interpreter import install

        install(repair=False)
    from tests.interpreter import cases

    for line in sys.stdin:
        name, seed = json.loads(line)
        try:
            results = [t.numpy().tobytes().hex() for t in cases.ALL[name](random.Random(seed))]
        except Exception as error:  # noqa: BLE001 - the error is the result, and is compared
            results = [f"error: {error!r}"]
        print(json.dumps(results), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
