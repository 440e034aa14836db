"""One planted fault for every check, and beside it the same text cured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.bench.planted import CURED, FAULTS, SIZE, Planted
from conformance.emulator.origin import UNKNOWN


def run_one(run_cuda: Callable[..., Any], fault: Planted, text: str, order: str = "row") -> Any:
    storage = torch.zeros(SIZE + 8)
    out = torch.zeros(SIZE + 8)[:SIZE]
    return run_cuda(
        fault.source(text),
        (storage[4 : SIZE + 4], out, SIZE),
        ("in", fault.out),
        grid=fault.grid,
        block=fault.block,
        shared=fault.shared,
        order=order,
    )


@pytest.mark.parametrize("order", ["row", "reverse", "random"])
@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_is_reported(run_cuda: Callable[..., Any], name: str, order: str) -> None:
    fault = FAULTS[name]
    seen = run_one(run_cuda, fault, fault.fault, order)
    found = [e for e in seen.events if e.kind is fault.kind]
    assert found, f"no {fault.kind.value} among: {seen}"
    assert any(fault.detail in e.detail for e in found), str(seen)
    assert all(e.site is not None and e.site.file == UNKNOWN and e.site.source for e in found), found


@pytest.mark.parametrize("order", ["row", "reverse", "random"])
@pytest.mark.parametrize("name", CURED)
def test_cured_twin_is_silent(run_cuda: Callable[..., Any], name: str, order: str) -> None:
    fault = FAULTS[name]
    assert run_one(run_cuda, fault, fault.cure, order).events == []
