"""mbarriers, the copy engine and wgmma: the shipped kernel is right, and without any one of its orders it is not."""

from __future__ import annotations

import pytest
import torch

from conformance.emulator import Backend, unwritten
from conformance.events import Event, Kind
from conformance.observation import Observation, observe
from conformance.regions import Arena, Region, Role
from kernels_cuda import launcher
from kernels_cuda.matmul_wgmma import BLOCK, BOX, DEPTH, SHARED, SOURCE, TILE

BACKEND = Backend(seconds=5.0)
SHAPE = (136, 640, 272)  # two tiles down and two across, and more slices of k than stages
FAULTS = {
    "nobody sees the barriers initialized": ("    __syncthreads();\n", "", {Kind.DATA_RACE, Kind.BARRIER_DIVERGENCE}),
    "no fence shows them to the copy engine": ("        barrier_init_fence();\n", "", {Kind.BARRIER_DIVERGENCE}),
    "a stage is filled before it is read": (
        "            barrier_wait(empty + turn.stage, turn.parity ^ 1);\n",
        "",
        {Kind.UNINITIALIZED_READ, Kind.DATA_RACE},
    ),
    "a stage is read before it is filled": (
        "            barrier_wait(full + turn.stage, turn.parity);\n",
        "",
        {Kind.UNINITIALIZED_READ, Kind.DATA_RACE},
    ),
    "the wrong parity": (
        "barrier_wait(full + turn.stage, turn.parity);",
        "barrier_wait(full, 1);",
        {Kind.UNINITIALIZED_READ},
    ),
    "a stage is given back while its products are under way": (
        "            wgmma_wait<1>();",
        "            wgmma_wait<2>();",
        {Kind.DATA_RACE},
    ),
    "one warp arrives for all": ("if (k0 > 0 && lane == 0)", "if (k0 > 0 && threadIdx.x == 0)", {Kind.DEADLOCK}),
    "the last stage of a tile is not given back": (
        "        if (lane == 0) barrier_arrive(empty + before);\n",
        "",
        {Kind.DEADLOCK},
    ),
    "a lane more arrives": ("if (k0 > 0 && lane == 0)", "if (k0 > 0 && lane < 2)", {Kind.DEADLOCK}),
    "too few bytes are expected": (
        "full + turn.stage, STAGE_BYTES",
        "full + turn.stage, STAGE_BYTES / 2",
        {Kind.DEADLOCK},
    ),
    "no fence before the products": ("            wgmma_fence();\n", "", {Kind.WARP}),
    "no swizzle in the descriptors": ("swizzle_128 = 1ull << 62", "swizzle_128 = 0", {Kind.WARP}),
    "every thread initializes the barriers": ("if (threadIdx.x == 0) {", "if (true) {", {Kind.BARRIER_DIVERGENCE}),
    "a slice too many": (
        "k0 < k; k0 += WGMMA_BK, turn.advance()) {\n            T *a",
        "k0 <= k; k0 += WGMMA_BK, turn.advance()) {\n            T *a",
        {Kind.BARRIER_DIVERGENCE},
    ),
}


def launched(text: str, *, order: str = "row", rows: int = 0) -> tuple[list[Event], Region, torch.Tensor]:
    """The events of a product under `text`, its result, and the right one; `rows` more rows are claimed for a."""
    m, k, n = SHAPE
    torch.manual_seed(0)
    whole, b = torch.randint(-2, 3, (m + rows, k)).half(), torch.randint(-2, 3, (k, n)).half()
    a = whole[:m]
    c = torch.empty(m, n, dtype=torch.float16)
    arena = Arena()
    out = Region("c", c, Role.OUT, initialized=False)
    for region in (Region("a", a, Role.IN, initialized=True), Region("b", b, Role.IN, initialized=True), out):
        arena.add(region)
    maps = (BACKEND.tensor_map(whole, TILE[0], BOX), BACKEND.tensor_map(b, DEPTH, BOX))
    handle = BACKEND.compile(text)
    with observe(Observation(arena, order=order)) as seen:
        BACKEND.launch(handle, "matmul_wgmma_float16", 1, BLOCK, (*maps, c, m, n, k, True), SHARED)
    return seen.events, out, a.float() @ b.float()


def source() -> str:
    return launcher.load(SOURCE).source


@pytest.mark.parametrize("order", ["row", "reverse", "random"])
def test_the_kernel_is_right_in_every_order(order: str) -> None:
    events, out, right = launched(source(), order=order)
    assert events == []
    assert unwritten(out) == (0, None)
    assert torch.equal(out.tensor.float(), right)


@pytest.mark.parametrize("name", FAULTS)
def test_a_missing_order_is_seen(name: str) -> None:
    before, after, kinds = FAULTS[name]
    text = source()
    assert before in text
    events, _, _ = launched(text.replace(before, after))
    assert {event.kind for event in events} & kinds, events
    assert all(event.site is not None for event in events)


def test_a_map_of_more_rows_than_the_matrix_has_is_out_of_bounds() -> None:
    events, _, _ = launched(source(), rows=8)
    assert {event.kind for event in events} == {Kind.OUT_OF_BOUNDS_READ}
    assert events[0].argument == "a"


@pytest.mark.parametrize("distance", ["eight_rows = 1024 / 17", "next = box / 17"])
def test_the_distances_in_a_descriptor_are_those_that_are_read(distance: str) -> None:
    text = source()
    assert distance.replace("17", "16") in text
    _, out, right = launched(text.replace(distance.replace("17", "16"), distance))
    assert not torch.equal(out.tensor.float(), right)
