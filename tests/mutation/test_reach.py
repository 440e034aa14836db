from __future__ import annotations

import pathlib

import pytest

import kernels_cuda
from conformance.mutation.reach import definitions, reached

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
