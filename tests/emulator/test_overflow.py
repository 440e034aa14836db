"""Offsets in 32 bits: seen where an access shows that they have wrapped round, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.emulator import toolchain
from conformance.events import Kind
from conformance.memory import lazy

pytestmark = pytest.mark.skipif(
    "clang" in toolchain.compiler(), reason="g++ alone calls back where signed arithmetic wraps"
)

SOURCE = """
extern "C" __global__ void copy(const float* x, float* out, int columns, int stride) {
    const OFFSET row = blockIdx.x;
    int state = (int)blockIdx.x * 1103515245 + 12345;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        state = state * 1103515245 + 12345;
        const OFFSET from = row * STRIDE;
        out[(long long)blockIdx.x * columns + c] = x[from + c] + (float)(state & 0);
    }
}
"""
LINE = 1 + SOURCE.splitlines().index("        const OFFSET from = row * STRIDE;")


def rows(count: int, stride: int) -> torch.Tensor:
    """Rows of ones, far apart in memory that is not committed."""
    storage = lazy(4 * count * stride, torch.int8, torch.device("cpu")).view(torch.float32)
    return storage.as_strided((count, 8), (stride, 1)).fill_(1.0)


def launch(run_cuda: Callable[..., Any], x: torch.Tensor, source: str, **settings: Any) -> Any:
    args = (x, torch.empty(x.shape), x.shape[1], x.stride(0))
    return run_cuda(source, args, ("in", "out"), grid=x.shape[0], block=32, **settings)


@pytest.mark.parametrize("order", ["row", "reverse"])
def test_offset_that_wraps_round_is_reported_at_its_line(run_cuda: Callable[..., Any], order: str) -> None:
    source = SOURCE.replace("OFFSET", "int").replace("STRIDE", "stride")
    seen = launch(run_cuda, rows(3, 2**30 + 8), source, order=order)
    (event,) = [e for e in seen.events if e.kind is Kind.OVERFLOW]
    assert event.site is not None
    assert (event.site.line, event.argument, event.programs) == (LINE, "arg0", ((2, 0, 0),))
    assert "2147483664 becomes -2147483632" in event.detail


def test_offset_that_wraps_round_to_an_element_is_reported_though_its_access_is_not(
    run_cuda: Callable[..., Any],
) -> None:
    source = SOURCE.replace("OFFSET", "int").replace("STRIDE", "2 * stride * 2")
    seen = launch(run_cuda, rows(5, 2**30), source)
    assert {e.kind for e in seen.events} == {Kind.OVERFLOW}, str(seen)
    assert {e.site.line for e in seen.events} == {LINE}


def test_wide_offset_beside_a_hash_that_wraps_round_is_silent(run_cuda: Callable[..., Any]) -> None:
    source = SOURCE.replace("OFFSET", "long long").replace("STRIDE", "stride")
    assert launch(run_cuda, rows(3, 2**30 + 8), source).events == []


def test_setting_of_the_observation_switches_the_check_off(run_cuda: Callable[..., Any]) -> None:
    source = SOURCE.replace("OFFSET", "int").replace("STRIDE", "stride")
    seen = launch(run_cuda, rows(3, 2**30 + 8), source, overflow=False)
    assert seen.kinds == {Kind.OUT_OF_BOUNDS_READ}
