"""8-bit floats: every code, and values at, between and beyond them, convert as torch converts them."""

from __future__ import annotations

import pytest
import torch

from conformance.emulator import ArgumentError, Backend

SOURCE = """
#include <cuda_fp8.h>
extern "C" __global__ void decode(const TYPE* codes, float* x) { x[threadIdx.x] = float(codes[threadIdx.x]); }
extern "C" __global__ void encode(const float* x, TYPE* codes, unsigned char* unsaturated, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    codes[i] = TYPE(x[i]);
    unsaturated[i] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, KIND);
  }
}
"""
KINDS = {torch.float8_e4m3fn: ("__nv_fp8_e4m3", "__NV_E4M3"), torch.float8_e5m2: ("__nv_fp8_e5m2", "__NV_E5M2")}
CODES = torch.arange(256, dtype=torch.uint8)
backend = Backend("never")


@pytest.fixture(params=KINDS, ids=str)
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    found: torch.dtype = request.param
    return found


def source(dtype: torch.dtype) -> str:
    name, kind = KINDS[dtype]
    return SOURCE.replace("TYPE", name).replace("KIND", kind)


def test_every_code_has_the_value_that_torch_gives_it(dtype: torch.dtype) -> None:
    values = torch.empty(256)
    backend.launch(backend.compile(source(dtype)), "decode", 1, 256, (CODES.view(dtype), values))
    assert torch.equal(values.nan_to_num(nan=0.1), CODES.view(dtype).float().nan_to_num(nan=0.1))
    assert torch.equal(values.isnan(), CODES.view(dtype).float().isnan())


def test_values_round_to_nearest_even_once(dtype: torch.dtype) -> None:
    known = CODES.view(dtype).float()
    known = known[known.isfinite()].sort().values
    middles = (known[1:] + known[:-1]) / 2
    steps = [torch.nextafter(middles, torch.full_like(middles, to)) for to in (torch.inf, -torch.inf)]
    x = torch.cat([known, middles, *steps, known * 1.5, torch.tensor([1e30, -1e30, 1e-30, -0.0])])
    codes, unsaturated = torch.empty(len(x), dtype=dtype), torch.empty(len(x), dtype=torch.uint8)
    blocks = -(-len(x) // 128)
    backend.launch(backend.compile(source(dtype)), "encode", blocks, 128, (x, codes, unsaturated, len(x)))
    largest = torch.finfo(dtype).max
    assert torch.equal(codes.view(torch.uint8), x.clamp(-largest, largest).to(dtype).view(torch.uint8))
    inside = x.abs() <= largest
    assert torch.equal(unsaturated[inside], codes.view(torch.uint8)[inside])
    assert not unsaturated[x.abs() > 2 * largest].view(dtype).float().isfinite().any()


def test_pointer_to_one_format_takes_no_other(dtype: torch.dtype) -> None:
    (other,) = set(KINDS) - {dtype}
    with pytest.raises(ArgumentError, match="points to __nv_fp8"):
        backend.launch(
            backend.compile(source(dtype)), "decode", 1, 256, (CODES.view(other), torch.empty(256)), shared=0
        )
