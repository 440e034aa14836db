"""Our interpreter computes what the stock one computes, bit by bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = (
    "elementwise", "integers", "softmax", "online_softmax", "varlen", "matmul", "scans", "custom", "arg", "shapes",
    "sorts", "atomics", "histogram", "grid3", "nested", "gather", "rand", "descriptor", "casts",
)  # fmt: skip

# the stock interpreter takes a second and more for one of these
SLOW = {"custom": 6, "sorts": 6, "arg": 10, "matmul": 10, "rand": 10}


class Worker:
    def __init__(self, mode: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.interpreter.worker", mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TRITON_INTERPRET": "1"},
        )

    def ask(self, name: str, seed: int) -> list[str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, seed]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)


@pytest.fixture(scope="module")
def workers():
    pair = Worker("stock"), Worker("plain")
    yield pair
    for worker in pair:
        worker.close()


@pytest.mark.parametrize("name", NAMES)
def test_results_are_bit_equal_to_the_stock_interpreter(workers, name):
    stock, ours = workers

    @settings(max_examples=SLOW.get(name, 25), deadline=None, database=None)
    @given(st.integers(0, 2**32 - 1))
    def agree(seed):
        expected = stock.ask(name, seed)
        assert not expected[0].startswith("error")
        assert ours.ask(name, seed) == expected

    agree()
