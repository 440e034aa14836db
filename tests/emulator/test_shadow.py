from __future__ import annotations

from collections.abc import Callable

import torch

from conformance.emulator import Shadow
from conformance.memory import lazy
from conformance.regions import Region, Role


def test_the_shadow_of_rows_far_apart_takes_the_memory_of_their_pages(resident: Callable[[], int]) -> None:
    storage = lazy(2**33, torch.int8, torch.device("cpu"))
    rows = storage.as_strided((256, 8), (2**24, 1))
    before = resident()
    shadow = Shadow([Region("x", rows, Role.OUT, initialized=False)])
    assert shadow.unwritten(rows) == (rows.numel(), (0, 0))
    assert resident() - before < 50e6
