from __future__ import annotations

import importlib

import pytest
import torch

from conformance import runtime

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.large,
    pytest.mark.skipif(runtime.current() != "gpu", reason="torch sees no CUDA device, or kernels are interpreted"),
]

COLUMNS = 4096
ROWS = 2**31 // COLUMNS + 8  # the last rows lie past 2**31 elements


@pytest.fixture(params=["kernels_triton", "kernels_cuda"])
def language(request):
    return request.param


@pytest.fixture
def x():
    needed = 4 * ROWS * COLUMNS * 2  # inputs, output and a copy that torch may make, in float16
    if torch.cuda.mem_get_info(runtime.device())[0] < needed:
        pytest.skip(f"needs {needed / 2**30:.0f} GiB of free device memory")
    made = torch.empty((ROWS, COLUMNS), dtype=torch.float16, device=runtime.device())
    made[-8:].copy_(torch.randn((8, COLUMNS), generator=torch.Generator().manual_seed(0)))
    made[:-8].fill_(0.5)
    yield made
    del made
    torch.cuda.empty_cache()


def test_the_last_rows_of_a_sum_are_those_of_the_rows_alone(x, language):
    vector_add = importlib.import_module(f"{language}.vector_add").vector_add

    assert torch.equal(vector_add(x, x)[-8:], vector_add(x[-8:].clone(), x[-8:].clone()))


def test_the_last_rows_of_a_softmax_are_those_of_the_rows_alone(x, language):
    softmax = importlib.import_module(f"{language}.softmax").softmax

    assert torch.equal(softmax(x)[-8:], softmax(x[-8:].clone()))


def test_the_last_rows_of_an_rms_norm_are_those_of_the_rows_alone(x, language):
    rms_norm = importlib.import_module(f"{language}.rms_norm").rms_norm
    weight = torch.ones(COLUMNS, dtype=x.dtype, device=x.device)

    assert torch.equal(rms_norm(x, weight)[-8:], rms_norm(x[-8:].clone(), weight))


def test_the_last_rows_of_a_matmul_are_those_of_the_rows_alone(x):
    from kernels_triton.matmul import SMALL_CONFIG, matmul

    narrow = torch.ones((COLUMNS, 16), dtype=x.dtype, device=x.device)
    whole, alone = (matmul(a, narrow, config=SMALL_CONFIG) for a in (x, x[-8:].clone()))
    assert torch.equal(whole[-8:], alone)
