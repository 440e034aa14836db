"""The gate of the sources that ship: the record of all mutants is of today, and barriers and masks are judged anew."""

from __future__ import annotations

import json
import pathlib

import pytest

from conformance.bench.mutation import RECORD, subjects
from conformance.mutation import mutate, sources
from conformance.mutation.report import verdicts

ROOT = pathlib.Path(__file__).parents[2]

GROUPS = {f"{source.parent.name}/{source.name}": group for source, group in subjects().items()}
SOURCES = {f"{source.parent.name}/{source.name}": source for source in subjects()}
HEADER = "kernels_cuda/packs.cuh"
# those of softmax.cu are in its header
WITH_BARRIERS = ["kernels_cuda/matmul.cu", "kernels_cuda/matmul_wgmma.cu", "kernels_cuda/rms_norm.cu"]


def test_every_source_with_barriers_is_gated():
    texts = {
        name: [m.kind for m in sources.mutants(path)] for name, path in SOURCES.items() if path.suffix in sources.CUDA
    }
    assert sorted(name for name, kinds in texts.items() if "delete" in kinds) == sorted([*WITH_BARRIERS, HEADER])


@pytest.mark.parametrize("name", WITH_BARRIERS)
def test_a_barrier_that_is_missing_is_noticed(name):
    score = mutate(GROUPS[name], kinds=("delete",), examples=10, jobs=1)

    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]


def test_a_barrier_that_is_missing_in_a_header_is_noticed():
    by_blocks = [subject for subject in GROUPS["kernels_cuda/softmax.cu"] if subject.name.endswith(("_block", "_long"))]
    score = mutate(by_blocks, kinds=("delete",), examples=10, jobs=1, source=SOURCES[HEADER])

    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]


def test_a_mask_that_is_missing_is_noticed():
    score = mutate(GROUPS["kernels_cuda/vector_add.cu"], kinds=("unmask",), examples=10, jobs=1)

    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]
    assert score.total == 3


@pytest.mark.parametrize("name", SOURCES)
def test_the_record_has_a_verdict_on_every_mutant_of_today_and_no_survivor(name):
    """`tox -e mutation` judges them; here they are looked up by their texts."""
    known = verdicts(json.loads((ROOT / RECORD).read_text(encoding="utf-8")))
    score = mutate(GROUPS[name], source=SOURCES[name], sample=0, known=known)

    assert len(score.verdicts) == score.total, "mutants without a verdict: run tox -e mutation"
    assert not score.survivors, [str(verdict.mutant) for verdict in score.survivors]


def test_every_shipped_source_is_mutated():
    shipped = [path for folder in ("kernels_cuda", "kernels_triton") for path in sorted((ROOT / folder).iterdir())]
    texts = {path: path.read_text(encoding="utf-8") for path in shipped if path.suffix in (*sources.CUDA, ".py")}
    kernels = [path for path, text in texts.items() if path.suffix in sources.CUDA or "@triton.jit" in text]

    assert sorted(SOURCES.values()) == sorted(kernels)
