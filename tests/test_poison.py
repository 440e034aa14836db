"""Poison is recognisable and hostile in every dtype."""

import pytest
import torch

from conformance.poison import LIMIT, fill, is_poison

DTYPES = (
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.complex64,
    torch.bool,
)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("poison", ["nan", "large"])
def test_filled_memory_is_recognised_in_every_element(dtype: torch.dtype, poison: str) -> None:
    storage = torch.zeros(7, dtype=dtype)
    fill(storage, poison)

    assert bool(is_poison(storage, poison).all())


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.is_floating_point], ids=str)
def test_nan_poison_is_nan_and_large_poison_is_finite(dtype: torch.dtype) -> None:
    nan, large = torch.zeros(3, dtype=dtype), torch.zeros(3, dtype=dtype)
    fill(nan, "nan")
    fill(large, "large")

    assert bool(nan.float().isnan().all())
    assert bool(large.double().isfinite().all())
    assert float(large[0].double()) >= torch.finfo(dtype).max / 4


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not torch.bool], ids=str)
def test_the_two_poisons_differ(dtype: torch.dtype) -> None:
    one, other = torch.zeros(1, dtype=dtype), torch.zeros(1, dtype=dtype)
    fill(one, "nan")
    fill(other, "large")

    assert not bool(is_poison(one, "large").any())
    assert not bool(is_poison(other, "nan").any())


def test_an_ordinary_nan_is_not_taken_for_poison() -> None:
    assert not bool(is_poison(torch.full((4,), float("nan")), "nan").any())


def test_a_storage_beyond_the_limit_is_left_as_it_is() -> None:
    storage = torch.zeros(LIMIT + 1, dtype=torch.uint8)
    fill(storage)

    assert int(storage[0]) == 0
