"""The corpus: programs that are right give no event under any schedule, and each racy variant gives one."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
import torch

from conformance.bench.corpus import SCHEDULES, Program, Variant, programs, variants
from conformance.emulator import Backend
from conformance.regions import Role

FOLDER = pathlib.Path(__file__).parent / "corpus"
PROGRAMS = {p.name: p for p in programs(FOLDER)}
VARIANTS = {f"{p.name}:{v.mutant.line}:{v.mutant.kind}": v for p in PROGRAMS.values() for v in variants(p)}
Tensors = list[torch.Tensor]


@pytest.fixture(scope="module")
def backend() -> Backend:
    return Backend(seconds=5.0)


def _scan(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(0)


def _exclusive(x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(0) - x


def _heat(x: torch.Tensor) -> torch.Tensor:
    kernel = torch.tensor([[0.0, 0.25, 0.0], [0.25, 0.0, 0.25], [0.0, 0.25, 0.0]], dtype=torch.float64)[None, None]
    y = x[None, None]
    for _ in range(4):
        y = torch.nn.functional.conv2d(y, kernel, padding=1)
    return y[0, 0]


def _labels(edge: torch.Tensor) -> torch.Tensor:
    label = torch.arange(64.0, dtype=torch.float64)
    for i in range(1, 64):
        if edge[i - 1]:
            label[i] = label[i - 1]
    return label


def _life(x: torch.Tensor) -> torch.Tensor:
    n = sum(x.roll((a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - x
    return ((n == 3) | ((n == 2) & (x == 1))).double()


def _ones(x: torch.Tensor, size: int) -> torch.Tensor:
    return torch.nn.functional.conv1d(x[None, None], torch.ones(1, 1, size, dtype=torch.float64), padding=size // 2)[
        0, 0
    ]


def _blocks(x: torch.Tensor, size: int) -> torch.Tensor:
    return torch.stack([part.sum() for part in x.split(size)])


# the expected last written tensor, in float64, from the tensors before the launch
EXPECTED: dict[str, Callable[[Tensors], torch.Tensor]] = {
    "argmax_warp_shared": lambda t: t[0].argmax(1),
    "axpy_vector4": lambda t: t[1] + 2.5 * t[0],
    "bf16_scale": lambda t: t[1] + 0.5 * t[0],
    "bitonic_sort": lambda t: t[0].sort().values,
    "compaction": lambda t: (t[0] % 2).sum().reshape(1),
    "convolution_carved": lambda t: torch.nn.functional.conv1d(t[0][None, None], t[1][None, None], padding=2)[0, 0],
    "dot_half2": lambda t: (t[0] * t[1]).sum().reshape(1),
    "heat": lambda t: _heat(t[0]),
    "histogram": lambda t: torch.bincount(t[0].long(), minlength=256),
    "labels": lambda t: _labels(t[0]),
    "layer_norm_tiles": lambda t: torch.nn.functional.layer_norm(t[0], (45,)),
    "life": lambda t: _life(t[0]),
    "locked_sum": lambda t: torch.zeros(1),  # the lock is free again
    "matmul_double_buffer": lambda t: t[0] @ t[1],
    "matmul_tiles": lambda t: t[0] @ t[1],
    "matmul_wmma": lambda t: t[0] @ t[1],
    "max_atomic_double": lambda t: t[0].max().reshape(1),
    "neighbour_bytes": lambda t: t[0] + t[0].flip(0),
    "odd_even_sort": lambda t: t[0].sort().values,
    "radix_split": lambda t: torch.cat([t[0][t[0] % 4 < 2], t[0][t[0] % 4 >= 2]]),
    "reduce_atomic": lambda t: t[0].sum().reshape(1),
    "reduce_last_block": lambda t: t[0].sum().reshape(1),
    "reduce_tree": lambda t: _blocks(t[0], 128),
    "reduce_warp": lambda t: _blocks(t[0], 160),
    "scan_double_buffer": lambda t: _scan(t[0]),
    "scan_in_place": lambda t: _scan(t[0]),
    "scan_tree": lambda t: _exclusive(t[0]),
    "scan_warp": lambda t: _scan(t[0]),
    "softmax_rows": lambda t: t[0].softmax(1),
    "stencil_line": lambda t: _ones(t[0], 7),
    "tile_sums_shared": lambda t: _blocks(t[0], 4),
    "transpose_tiled": lambda t: t[0].T,
    "vector_add": lambda t: t[0] + t[1],
}


# All inputs are small integers, so that everything is exact but these two. Float32 sums of n terms and a few operations
# more: n + 20 roundings, of values no larger than the result and 1.
BOUNDS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax_rows": lambda y: (50 + 20) * torch.finfo(torch.float32).eps * (1 + y.abs()),
    "layer_norm_tiles": lambda y: (45 + 20) * torch.finfo(torch.float32).eps * (1 + y.abs()),
}


def test_corpus_has_the_promised_size() -> None:
    assert set(EXPECTED) == set(PROGRAMS)
    assert len(PROGRAMS) >= 20
    assert sum(v.reason is None for v in VARIANTS.values()) >= 40


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_program_gives_no_event_and_the_right_values_under_any_schedule(backend: Backend, name: str) -> None:
    program: Program = PROGRAMS[name]
    expected = EXPECTED[name]([t.double() for t in program.tensors()]).double()
    for order, seed in SCHEDULES:
        events, tensors = program.run(backend, program.text, order, seed)
        assert events == []
        written = [t for t, a in zip(tensors, program.tensor_arguments, strict=True) if a.role is not Role.IN]
        got = written[-1].double()
        assert (got - expected).abs().le(BOUNDS[name](expected) if name in BOUNDS else 0.0).all(), f"{order}: {got}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, v in VARIANTS.items() if v.reason is None])
def test_racy_variant_is_reported(backend: Backend, name: str) -> None:
    variant: Variant = VARIANTS[name]
    assert any(variant.program.run(backend, variant.mutant.text, order, seed)[0] for order, seed in SCHEDULES)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, v in VARIANTS.items() if v.reason is not None])
def test_variant_that_is_no_race_stays_silent(backend: Backend, name: str) -> None:
    variant: Variant = VARIANTS[name]
    assert not any(variant.program.run(backend, variant.mutant.text, order, seed)[0] for order, seed in SCHEDULES)
