"""Autotuned kernels run without a driver, in the config that is asked for."""

import torch
import triton
import triton.language as tl

from conformance.interpreter import forget_tuning
from tests.interpreter.observing import observed

CONFIGS = [triton.Config({"B": 4}), triton.Config({"B": 8}), triton.Config({"B": 16})]


@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def increment(x, block, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
    tl.store(block, B)


@triton.autotune(CONFIGS, key=["n"], restore_value=["x"])
@triton.jit
def increment_restored(x, block, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
    tl.store(block, B)


@triton.autotune(CONFIGS, key=["n"], prune_configs_by={"early_config_prune": lambda configs, args, **_: configs[:2]})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def pruned(x, block, n, B: tl.constexpr, EVEN: tl.constexpr):
    tl.store(block, B * 10 + EVEN)


def launch(kernel, config=None, tune=False):
    x, block = torch.zeros(20), torch.zeros(1, dtype=torch.int32)
    grid = lambda meta: (triton.cdiv(20, meta["B"]),)  # noqa: E731
    seen = observed(lambda: kernel[grid](x, block, 20), inouts={"x": x, "block": block}, config=config, tune=tune)
    return x, int(block.item()), seen


def test_every_config_can_be_run():
    for i, size in enumerate((4, 8, 16)):
        x, block, seen = launch(increment, i)
        assert (block, seen.configs) == (size, 3)
        assert (x == 1).all()


def test_tuning_runs_every_config_as_on_a_gpu():
    for _ in range(2):
        assert (launch(increment, tune=True)[0] == 4).all()  # three configs and the launch itself
        x, block, _ = launch(increment)
        assert (x == 1).all()
        assert block == 4


def test_nothing_is_tuned_unasked():
    forget_tuning()
    x, block, _ = launch(increment)
    assert (x == 1).all()
    assert block == 4


def test_restored_values_survive_tuning():
    assert (launch(increment_restored, tune=True)[0] == 1).all()


def test_pruning_and_heuristics_are_kept():
    _, block, seen = launch(pruned, 1)
    assert (block, seen.configs) == (80, 2)
    assert launch(pruned, 0)[1] == 41
