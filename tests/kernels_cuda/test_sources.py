"""The `.cu` sources: their form, their entry points, and the constants that a launcher repeats."""

import pathlib
import re

import pytest

import kernels_cuda
from kernels_cuda import arguments, launcher, matmul, matmul_wgmma, row_kernel, vector_add

FOLDER = pathlib.Path(kernels_cuda.__file__).parent
SOURCES = sorted(FOLDER.glob("*.cu"))
TEXTS = [*SOURCES, *sorted(FOLDER.glob("*.cuh"))]
DTYPES = ("float16", "bfloat16", "float32", "float64")
HEADERS = {"cuda_fp16.h", "cuda_bf16.h", "mma.h", "cuda_pipeline.h", "cooperative_groups.h"}


def constant(path, name):
    return int(re.search(rf"\b{name} = (\d+)", path.read_text())[1])


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_source_has_no_tab_no_long_line_and_no_leftover(path):
    for line in path.read_text().splitlines():
        assert len(line) <= 120
        assert line == line.rstrip()
        assert not re.search(r"\t|TODO|FIXME|XXX", line)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_source_includes_only_headers_that_every_runtime_has(path):
    assert set(re.findall(r"#include\s+<([^>]+)>", path.read_text())) <= HEADERS


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_inline_assembly_is_kept_out_of_the_kernels(path):
    assert not re.search(r"\basm\b", path.read_text())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_source_has_a_launcher_of_its_name(path):
    assert path.with_suffix(".py").exists()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_kernel_of_a_source_is_read_and_there_is_one_for_each_dtype(path):
    signatures = launcher.load(path).signatures
    assert len(signatures) == path.read_text().count("__global__")
    stems = {name.rpartition("_")[0] for name in signatures}
    dtypes = {stem: DTYPES[:2] if stem in ("matmul_wmma", "matmul_wgmma") else DTYPES for stem in stems}
    assert set(signatures) == {f"{stem}_{dtype}" for stem in stems for dtype in dtypes[stem]}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_kernel_writes_only_its_last_pointer(path):
    for name, signature in launcher.load(path).signatures.items():
        pointers = [parameter.written for parameter in signature if parameter.pointee is not None]
        assert pointers == [False] * (len(pointers) - 1) + [True], name


def test_constants_that_launchers_repeat_are_those_of_the_sources():
    assert constant(FOLDER / "packs.cuh", "MAX_DIMS") == arguments.MAX_DIMS
    assert constant(vector_add.SOURCE, "UNROLL") == vector_add.UNROLL
    packs = FOLDER / "packs.cuh"
    assert 32 * constant(packs, "WARP_ITEMS") == row_kernel.WARP_COLUMNS
    assert 32 * constant(packs, "SHORT_ITEMS") == row_kernel.SHORT_COLUMNS
    assert constant(packs, "BATCH") * constant(packs, "BATCHES") == row_kernel.PACKS
    assert f"BLOCK_ITEMS = {row_kernel.THREAD_BYTES} / (int)sizeof(T)" in packs.read_text()
    stages, inner = constant(matmul.SOURCE, "WMMA_STAGES"), constant(matmul.SOURCE, "WMMA_BK")
    rows, columns = constant(matmul.SOURCE, "WMMA_BM"), constant(matmul.SOURCE, "WMMA_BN")
    assert stages * (rows * (inner + 8) + inner * (columns + 8)) * 2 == matmul.WMMA_SHARED


def test_constants_of_the_wgmma_launcher_are_those_of_its_source():
    rows, columns, inner, stages = (
        constant(matmul_wgmma.SOURCE, f"WGMMA_{name}") for name in ("BM", "BN", "BK", "STAGES")
    )
    assert (rows, columns) == matmul_wgmma.TILE
    assert inner == matmul_wgmma.DEPTH
    assert constant(matmul_wgmma.SOURCE, "BOX") == matmul_wgmma.BOX
    assert stages * ((rows * inner + inner * columns) * 2 + 2 * 8) == matmul_wgmma.SHARED
    assert 32 * (constant(matmul_wgmma.SOURCE, "CONSUMER_WARPS") + 1) == matmul_wgmma.BLOCK
