"""Overflowed offsets are found where they reach an address; what overflows on purpose is left alone."""

import torch
import triton
import triton.language as tl

from conformance.events import Kind
from tests.interpreter.observing import kinds, line, observed, only


@triton.jit
def rows(x, o, stride, B: tl.constexpr):
    row = tl.program_id(0)
    at = row * stride  # product
    at = at + tl.arange(0, B)
    tl.store(o + row * B + tl.arange(0, B), tl.load(x + at))


def huge(stride: int) -> torch.Tensor:
    # int8 of 4 GiB that is never touched as a whole, so that nothing is committed
    return torch.empty(4 * stride, dtype=torch.int8).as_strided((4, 8), (stride, 1))


def test_a_row_offset_beyond_32_bits_is_found_at_the_product():
    x, o = huge(2**30), torch.empty(4, 8, dtype=torch.int8)
    seen = observed(lambda: rows[(4,)](x, o, 2**30, B=8), inputs={"x": x}, outputs={"o": o})
    event = only(seen, Kind.OVERFLOW)
    assert event.argument == "x"
    assert event.site.line == line(rows, "product")
    assert event.programs == ((2, 0, 0),)
    assert event.count == 16
    assert "2147483648" in event.detail


def test_the_largest_offset_that_fits_is_silent():
    x, o = huge(2**30), torch.empty(4, 8, dtype=torch.int8)
    assert not observed(lambda: rows[(2,)](x, o, 2**30, B=8), inputs={"x": x}, outputs={"o": o}).events


def test_overflow_is_not_looked_for_when_switched_off():
    x, o = huge(2**30), torch.empty(4, 8, dtype=torch.int8)
    seen = observed(lambda: rows[(4,)](x, o, 2**30, B=8), inputs={"x": x}, outputs={"o": o}, overflow=False)
    assert kinds(seen) == {Kind.OUT_OF_BOUNDS_READ}


@triton.jit
def wide_rows(x, o, stride, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tl.store(o + row * B + tl.arange(0, B), tl.load(x + row * stride + tl.arange(0, B)))


def test_offsets_in_64_bits_are_silent():
    x, o = huge(2**30), torch.empty(4, 8, dtype=torch.int8)
    assert not observed(lambda: wide_rows[(4,)](x, o, 2**30, B=8), inputs={"x": x}, outputs={"o": o}).events


@triton.jit
def late_cast(x, o, stride, B: tl.constexpr):
    at = (tl.program_id(0) * stride).to(tl.int64)
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B), tl.load(x + at + tl.arange(0, B)))


def test_a_cast_after_the_product_comes_too_late():
    x, o = huge(2**30), torch.empty(4, 8, dtype=torch.int8)
    seen = observed(lambda: late_cast[(4,)](x, o, 2**30, B=8), inputs={"x": x}, outputs={"o": o})
    assert Kind.OVERFLOW in kinds(seen)


@triton.jit
def gathered(x, index, o, stride, B: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B), tl.load(x + row * stride + tl.arange(0, B)))


def test_an_index_from_memory_can_overflow_too():
    x, o = huge(2**30), torch.empty(2, 8, dtype=torch.int8)
    index = torch.tensor([0, 3], dtype=torch.int32)
    seen = observed(lambda: gathered[(2,)](x, index, o, 2**30, B=8), inputs={"x": x, "index": index}, outputs={"o": o})
    assert only(seen, Kind.OVERFLOW).count == 8


@triton.jit
def hashes(x, o, seed, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    h = (c * 1664525 + 1013904223) * 1000003
    bucket = (h % 64 + 64) % 64
    tl.store(o + c, tl.load(x + bucket) + tl.rand(seed, c))


def test_hashes_and_random_numbers_may_overflow():
    x, o = torch.randn(64), torch.empty(64)
    assert not observed(lambda: hashes[(4,)](x, o, 12345, B=16), inputs={"x": x}, outputs={"o": o}).events


@triton.jit
def masked(x, o, n, stride, B: tl.constexpr):
    row = tl.arange(0, B)
    tl.store(o + row, tl.load(x + row * stride, mask=row < n), mask=row < n)


def test_a_masked_lane_may_overflow():
    x, o = huge(2**30), torch.empty(2, dtype=torch.int8)
    assert not observed(lambda: masked[(1,)](x, o, 2, 2**30, B=8), inputs={"x": x}, outputs={"o": o}).events
