"""The gate of the CUDA sources that ship: barriers and masks alone; `tox -e mutation` judges every mutant."""

from __future__ import annotations

import pytest

from conformance.bench.mutation import subjects
from conformance.mutation import mutate, sources

GROUPS = {source.name: group for source, group in subjects().items()}
SOURCES = {source.name: source for source in subjects()}


WITH_BARRIERS = ["matmul.cu", "matmul_wgmma.cu", "rms_norm.cu"]  # those of softmax.cu are in its header


def test_every_source_with_barriers_is_gated():
    texts = {
        name: [m.kind for m in sources.mutants(path)] for name, path in SOURCES.items() if path.suffix in sources.CUDA
    }
    assert sorted(name for name, kinds in texts.items() if "delete" in kinds) == sorted([*WITH_BARRIERS, "packs.cuh"])


@pytest.mark.parametrize("name", WITH_BARRIERS)
def test_a_barrier_that_is_missing_is_noticed(name):
    score = mutate(GROUPS[name], kinds=("delete",), examples=4, jobs=1)

    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]


def test_a_barrier_that_is_missing_in_a_header_is_noticed():
    by_blocks = [subject for subject in GROUPS["softmax.cu"] if subject.name.endswith(("_block", "_long"))]
    score = mutate(by_blocks, kinds=("delete",), examples=4, jobs=1, source=SOURCES["packs.cuh"])

    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]


def test_a_mask_that_is_missing_is_noticed():
    score = mutate(GROUPS["vector_add.cu"], kinds=("unmask",), examples=4, jobs=1)

    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]
    assert score.total == 3
