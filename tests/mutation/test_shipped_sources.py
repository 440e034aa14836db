"""The gate of the CUDA sources that ship: barriers and masks alone; `tox -e mutation` judges every mutant."""

from __future__ import annotations

import pytest

from conformance.bench.mutation import subjects
from conformance.mutation import mutate, sources

GROUPS = {
    source.name: group
    for group in subjects()
    if (source := sources.source([subject.kernel for subject in group])).suffix == ".cu"
}


@pytest.mark.parametrize("name", GROUPS)
def test_a_barrier_that_is_missing_is_noticed(name):
    score = mutate(GROUPS[name], kinds=("delete",), examples=4, jobs=1)

    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]


def test_a_mask_that_is_missing_is_noticed():
    score = mutate(GROUPS["vector_add.cu"], kinds=("unmask",), examples=4, jobs=1)

    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]
    assert score.total == 3
