"""Named barriers: warps that fill a tile and warps that read it wait for each other by a barrier's number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.events import Kind

SOURCE = """
extern "C" __global__ void specialised(const float* x, float* out, int tiles) {
  __shared__ float tile[64];
  if (threadIdx.x < 64) {
    for (int t = 0; t < tiles; t++) {
      emu_bar_sync(1, 128);  // empty
      tile[threadIdx.x] = x[t * 64 + threadIdx.x];
      emu_bar_arrive(2, 128);  // full
    }
  } else {
    float sum = 0;
    emu_bar_arrive(1, 128);
    for (int t = 0; t < tiles; t++) {
      emu_bar_sync(2, 128);  // full
      sum += tile[127 - threadIdx.x];
      if (t + 1 < tiles) emu_bar_arrive(1, 128);
    }
    out[threadIdx.x - 64] = sum;
  }
}
"""
FAULTS = {
    "no wait for an empty tile": ("emu_bar_sync(1, 128);  // empty", "", Kind.DEADLOCK),
    "no wait for a full tile": ("emu_bar_sync(2, 128);  // full", "", Kind.DATA_RACE),
    "arrival before the write": (
        "tile[threadIdx.x] = x[t * 64 + threadIdx.x];\n      emu_bar_arrive(2, 128);",
        "emu_bar_arrive(2, 128); tile[threadIdx.x] = x[t * 64 + threadIdx.x];",
        Kind.DATA_RACE,
    ),
    "no arrival": ("emu_bar_arrive(2, 128);", "", Kind.DEADLOCK),
    "another number of threads": ("emu_bar_sync(1, 128)", "emu_bar_sync(1, 96)", Kind.BARRIER_DIVERGENCE),
    "half a warp": ("emu_bar_sync(1, 128)", "emu_bar_sync(1, 48)", Kind.BARRIER_DIVERGENCE),
    "a barrier too many": ("emu_bar_sync(1, 128)", "emu_bar_sync(16, 128)", Kind.BARRIER_DIVERGENCE),
}


def launch(run_cuda: Callable[..., Any], source: str, order: str) -> tuple[Any, torch.Tensor, torch.Tensor]:
    x, out = torch.arange(256.0), torch.empty(64)
    return run_cuda(source, (x, out, 4), ("in", "out"), grid=2, block=128, order=order), x, out


@pytest.mark.parametrize("order", ["row", "reverse", "random"])
def test_warps_that_hand_tiles_on_raise_no_alarm(run_cuda: Callable[..., Any], order: str) -> None:
    source = SOURCE.replace("out[threadIdx.x - 64] = sum", "if (blockIdx.x == 0) out[threadIdx.x - 64] = sum")
    seen, x, out = launch(run_cuda, source, order)
    assert seen.events == []
    assert torch.equal(out, x.view(4, 64).sum(0).flip(0))


@pytest.mark.parametrize("name", FAULTS)
def test_fault_of_a_named_barrier_is_reported(run_cuda: Callable[..., Any], name: str) -> None:
    old, new, kind = FAULTS[name]
    seen, _, _ = launch(run_cuda, SOURCE.replace(old, new), "row")
    assert kind in seen.kinds, str(seen)
