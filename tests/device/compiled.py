"""Dry launches of compiled kernels without a GPU: a stand-in for Triton's driver says which device to compile for.

Run by `test_compiled.py` in a process of its own, where Triton does not interpret; prints what was seen as JSON.
"""

from __future__ import annotations

import json
import os
import sys

os.environ["TRITON_CACHE_DIR"] = sys.argv[1]

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

from conformance.device import watch
from conformance.observation import Observation, observe
from conformance.regions import Arena

os.environ.pop("TRITON_INTERPRET", None)  # which conformance has set, since torch sees no device


class Driver:
    """As much of a driver as compiling needs."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def set_current_device(self, device):
        assert device == 0

    def get_active_torch_device(self):
        return torch.device("cpu")


triton.runtime.driver.set_active(Driver())


@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def broken(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) @ 2, mask=i < n)


configs = [triton.Config({"BLOCK": 16 << k}, num_warps=1) for k in range(6)]
tuned = triton.autotune(configs=configs, key=["n"])(double)
x = torch.zeros(64)


def seen(run, threads=2, **settings):
    observation = Observation(Arena(), dry=True, **settings)
    with watch.compiling(threads) as counts, observe(observation):
        run()
    geometry = [{"grid": g.grid, **dict(g.meta)} for g in observation.geometry]
    return {"compiles": counts.compiles, "seconds": counts.compile_seconds, "geometry": geometry}


def twice():
    for n in (7, 16, 7):
        double[(1,)](x, n, BLOCK=64)


def one_of_them_broken():
    broken[(1,)](x, 7, BLOCK=64)
    double[(1,)](x, 1, BLOCK=64)


watch.install()
found = {
    "each variant once": seen(twice),
    "again": seen(twice),
    "with options": seen(lambda: double[(1,)](x, 7, BLOCK=64), compiler=(("num_warps", 8), ("num_stages", 1))),
    "tuned": seen(lambda: tuned[(1,)](x, 64), tune=True, seed=4),
    "not tuned": seen(lambda: tuned[(1,)](x, 64)),
    "one of the configs": seen(lambda: tuned[(1,)](x, 64), config=5),
    "broken": seen(one_of_them_broken),
}
observation = Observation(Arena(), dry=True)
with observe(observation):
    double[(1, 70_000, 1)](x, 3, BLOCK=64)
found["too large a grid"] = [event.kind.name for event in observation.events]
found["warps"] = sorted({kernel.metadata.num_warps for kernel in double.device_caches[0][0].values()})
print(json.dumps(found))
