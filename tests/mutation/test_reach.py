from __future__ import annotations

import pathlib

import pytest

import kernels_cuda
from conformance import ops
from conformance.mutation import Mutant, Subject
from conformance.mutation.reach import definitions, reached
from conformance.mutation.sources import headers
from kernels_cuda.softmax import softmax
from kernels_cuda.vector_add import vector_add

FOLDER = pathlib.Path(kernels_cuda.__file__).parent
SOURCES = sorted(FOLDER.glob("*.cu"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_definitions_of_a_shipped_source_are_the_whole_text(path):
    text = path.read_text()

    assert "".join(text[d.start : d.end] for d in definitions(text)) == text


def test_a_kernel_reaches_what_it_calls_and_nothing_else():
    text = (FOLDER / "matmul.cu").read_text()
    names = {d.name for d in reached(text, "matmul_wmma_.*")}

    assert {"tensor_cores", "fetch_tile", "matmul_wmma_float16"} <= names
    assert not {"naive", "tiled", "async", "matmul_naive_float16"} & names


def test_a_kernel_reaches_the_definitions_of_headers_that_it_calls():
    header = FOLDER / "packs.cuh"
    (line,) = [i for i, text in enumerate(header.read_text().splitlines(), 1) if "__pipeline_wait_prior" in text]
    mutant = Mutant("delete", line, "", "", "")

    assert Subject(softmax, ops.softmax).reaches(header, mutant)
    assert not Subject(softmax, ops.softmax, launches="softmax_block_.*").reaches(header, mutant)
    assert not Subject(vector_add, ops.vector_add).reaches(header, mutant)
    assert [path.name for path in headers(FOLDER / "matmul.cu")] == ["ptx.cuh", "packs.cuh", "tiles.cuh"]
