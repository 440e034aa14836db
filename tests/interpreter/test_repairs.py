"""Numbers as a GPU has them, where the stock interpreter is wrong."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime.errors import InterpreterError

from conformance.events import Kind
from conformance.interpreter import active, formats, repairs
from tests.interpreter.observing import line, observed, only

SMALL = [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]


@triton.jit
def convert(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n).to(o.dtype.element_ty), mask=i < n)


def converted(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    o = torch.empty(x.shape, dtype=dtype)
    convert[(triton.cdiv(x.numel(), 1024),)](x, o, x.numel(), B=1024)
    return o


def equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    a, b = a.double(), b.double()
    return bool(((a == b) & (a.signbit() == b.signbit()) | (a.isnan() & b.isnan())).all())


@pytest.mark.parametrize("source", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("target", [torch.float32, torch.float16, torch.bfloat16])
def test_every_code_of_the_8_bit_formats_converts_as_in_torch(source, target):
    codes = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(source)
    assert equal(converted(codes, target), codes.to(target))


@pytest.mark.parametrize("source", [torch.float32, torch.float16])
def test_conversion_to_bfloat16_rounds_to_nearest_even(source):
    x = torch.cat([torch.randn(3000), torch.randn(500) * 1e-40, torch.tensor([3.4e38, -3.4e38, torch.inf, torch.nan])])
    x = x.to(source)
    assert equal(converted(x, torch.bfloat16), x.to(torch.bfloat16))


@pytest.mark.parametrize("target", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_conversion_to_8_bits_rounds_to_nearest_even_and_saturates(target):
    x = torch.cat([torch.randn(3000) * 10, torch.randn(1000) * 1e-3, torch.tensor([1e9, -1e9, torch.nan])])
    largest = torch.finfo(target).max
    assert equal(converted(x, target), x.clamp(-largest, largest).to(target))


@triton.jit
def half_arithmetic(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, a + b)
    tl.store(o + n + i, a * b)
    tl.store(o + 2 * n + i, a - b)
    tl.store(o + 3 * n + i, a / b)
    tl.store(o + 4 * n + i, tl.maximum(a, b))
    tl.store(o + 5 * n + i, tl.where(a < 0, -a, a * 2.0))


def test_bfloat16_arithmetic_is_that_of_torch():
    x, y = torch.randn(1024).bfloat16(), torch.randn(1024).bfloat16()
    o = torch.empty(6, 1024, dtype=torch.bfloat16)
    half_arithmetic[(1,)](x, y, o, 1024, B=1024)
    for got, want in zip(
        o, [x + y, x * y, x - y, x / y, torch.maximum(x, y), torch.where(x < 0, -x, x * 2)], strict=True
    ):
        assert equal(got, want)


@triton.jit
def total(x, o, B: tl.constexpr):
    tl.store(o, tl.sum(tl.load(x + tl.arange(0, B))))
    tl.store(o + 1, tl.max(tl.load(x + tl.arange(0, B))))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_half_sum_loses_what_half_precision_loses(dtype):
    big = 2048 if dtype is torch.float16 else 256
    x = torch.full((64,), 0.25, dtype=dtype)
    x[0] = big
    o = torch.empty(2, dtype=dtype)
    total[(1,)](x, o, B=64)
    assert o[1] == big
    assert o[0] < x.double().sum()


@triton.jit
def dot(a, b, o, B: tl.constexpr, PRECISION: tl.constexpr):
    r = tl.arange(0, B)
    at = r[:, None] * B + r[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision=PRECISION))


def test_float32_dots_show_tf32_unless_they_ask_for_ieee():
    a, b, o = torch.eye(16), torch.full((16, 16), 1 + 2.0**-11), torch.empty(16, 16)
    for precision, want in ((None, 1.0), ("tf32", 1.0), ("tf32x3", 1 + 2.0**-11), ("ieee", 1 + 2.0**-11)):
        dot[(1,)](a, b, o, B=16, PRECISION=precision)
        assert (o == want).all(), precision


def test_bfloat16_dots_are_sums_of_exact_products():
    a, b = torch.randn(16, 16).bfloat16(), torch.randn(16, 16).bfloat16()
    o = torch.empty(16, 16)
    dot[(1,)](a, b, o, B=16, PRECISION=None)
    torch.testing.assert_close(o, a.float() @ b.float())


@triton.jit
def scaled(x, o, n, eps, flag, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) + ((eps + 1.0) - 1.0).to(tl.float32) + flag.to(tl.float32), mask=i < n)


def test_float_and_bool_arguments_are_scalars_of_their_type():
    x, o = torch.zeros(4), torch.empty(4)
    scaled[(1,)](x, o, 4, 1e-9, True, B=4)
    assert (o == 1.0).all()


@triton.jit
def words(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    inside = v > -0.5 and (v < 0.5 or not i > 2)
    chain = 0 < i < 5
    tl.store(o + i, inside.to(tl.int32) + 2 * chain.to(tl.int32) + 4 * (max(v, 0.0) > 0).to(tl.int32), mask=i < n)


def test_and_or_not_and_chains_work_elementwise():
    x, o = torch.randn(10), torch.empty(10, dtype=torch.int32)
    words[(1,)](x, o, 10, B=16)
    i = torch.arange(10)
    want = ((x > -0.5) & ((x < 0.5) | (i <= 2))).int() + 2 * ((i > 0) & (i < 5)).int() + 4 * (x > 0).int()
    assert torch.equal(o, want)


@triton.jit
def if_on_a_block(x, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    if v > 0:  # if
        tl.store(x, 1.0)


def test_if_on_a_block_is_refused_as_the_compiler_refuses_it():
    x = torch.randn(8)
    with pytest.raises(InterpreterError, match=r"tl\.where"):
        if_on_a_block[(1,)](x, B=8)

    def run():
        with pytest.raises(InterpreterError):
            if_on_a_block[(1,)](x, B=8)

    event = only(observed(run, inouts={"x": x}), Kind.REJECTED)
    assert event.site.line == line(if_on_a_block, "if")


@triton.jit
def largest_of(dtype: tl.constexpr):
    unwrapped = dtype.value
    if unwrapped.is_floating():
        return float("inf")
    return 2 ** (unwrapped.int_bitwidth - 1) - 1


@triton.jit
def largest(x, o, B: tl.constexpr):
    i = tl.arange(0, B.value)
    tl.store(o + i, tl.full((B,), largest_of(x.dtype.element_ty), x.dtype.element_ty))


@pytest.mark.parametrize(("dtype", "value"), [(torch.float32, torch.inf), (torch.int16, 2**15 - 1)])
def test_a_constexpr_has_a_value_as_in_the_compiler(dtype, value):
    o = torch.zeros(4, dtype=dtype)

    largest[(1,)](o, o, B=4)

    assert o.tolist() == [value] * 4


@triton.jit
def breaks(x, n):
    for i in range(n):
        if i == 2:
            break  # break
        tl.store(x + i, 1.0)


def test_break_in_a_loop_is_reported_at_its_line():
    x = torch.zeros(8)
    event = only(observed(lambda: breaks[(1,)](x, 5), inouts={"x": x}), Kind.REJECTED)
    assert event.site.line == line(breaks, "break")
    assert x.sum() == 2


@triton.jit
def thin_dot(a, o, K: tl.constexpr):
    r, k = tl.arange(0, 16), tl.arange(0, K)
    x = tl.load(a + r[:, None] * K + k[None, :])
    tl.store(o + r[:, None] * 16 + r[None, :], tl.dot(x, tl.trans(x)))  # dot


def test_a_dot_with_too_few_products_is_reported():
    o = torch.empty(16, 16)
    a = torch.randn(16, 4)
    event = only(observed(lambda: thin_dot[(1,)](a, o, K=4), inputs={"a": a}, outputs={"o": o}), Kind.REJECTED)
    assert event.site.line == line(thin_dot, "dot")
    a = torch.randn(16, 8)
    assert not observed(lambda: thin_dot[(1,)](a, o, K=8), inputs={"a": a}, outputs={"o": o}).events


@triton.jit
def double_dot(a, o):
    r = tl.arange(0, 16)
    x = tl.load(a + r[:, None] * 16 + r[None, :])
    acc = tl.zeros((16, 16), tl.float32)
    tl.store(o + r[:, None] * 16 + r[None, :], tl.dot(x, x, acc))


def test_float64_operands_with_a_float32_accumulator_are_refused():
    a, o = torch.randn(16, 16, dtype=torch.float64), torch.empty(16, 16, dtype=torch.float64)
    with pytest.raises(InterpreterError, match="accumulator"):
        double_dot[(1,)](a, o)


@triton.jit
def slot_mask(x, o, slot, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=(i < n) & (slot >= 0), other=0.0), mask=i < n)


def test_a_block_mask_joined_with_a_scalar_comparison_is_a_mask():
    x, o = torch.randn(5), torch.empty(5)
    slot_mask[(1,)](x, o, 3, 5, B=8)
    assert torch.equal(o, x)


@triton.jit
def device_functions(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=1.0)
    tl.store(o + i, libdevice.tanh(v), mask=i < n)
    tl.store(o + n + i, libdevice.pow(v, 2.0), mask=i < n)
    tl.store(o + 2 * n + i, libdevice.erf(v) + libdevice.rsqrt(v), mask=i < n)
    tl.store(o + 3 * n + i, libdevice.isnan(v).to(tl.float32) + libdevice.round(v * 10), mask=i < n)


def test_device_library_functions_compute():
    x, o = torch.rand(10) + 0.1, torch.empty(4, 10)
    device_functions[(1,)](x, o, 10, B=16)
    torch.testing.assert_close(o[0], x.tanh())
    torch.testing.assert_close(o[1], x * x)
    torch.testing.assert_close(o[2], x.erf() + x.rsqrt())
    torch.testing.assert_close(o[3], torch.floor(x * 10 + 0.5))


@triton.jit
def atomic_bf16(o, x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(o + i // 2, tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


def test_bfloat16_atomics_add():
    x, o = torch.ones(8, dtype=torch.bfloat16), torch.zeros(4, dtype=torch.bfloat16)
    atomic_bf16[(1,)](o, x, 8, B=8)
    assert (o == 2).all()


def test_each_repair_is_on_exactly_when_its_probe_finds_the_stock_interpreter_wrong():
    assert set(active()) == {r.name for r in repairs.ALL if r.name in active() or not r.right()}
    assert len({r.name for r in repairs.ALL}) == len(repairs.ALL)


def test_round_trips_of_bit_patterns_are_exact():
    for name in formats.SMALL:
        codes = np.arange(2**16 if name == "bf16" else 2**8).astype(np.uint16 if name == "bf16" else np.uint8)
        values = formats.decode(codes, name)
        kept = np.isfinite(values)
        assert np.array_equal(formats.encode(values, name)[kept], codes[kept])


@triton.jit
def annotated(o, eps: tl.float64, big: tl.int64, half: tl.float16):
    tl.store(o, (1.0 + eps) - 1.0)
    tl.store(o + 1, (big * 2**30).to(tl.float64))
    tl.store(o + 2, half.to(tl.float64))


def test_annotated_scalars_have_the_type_that_is_stated():
    o = torch.empty(3, dtype=torch.float64)
    annotated[(1,)](o, 1e-10, 8, 0.1)
    assert o[0] != 0
    assert o[1] == 2.0**33
    assert o[2] == torch.tensor(0.1, dtype=torch.float16)


@triton.jit
def tile_dot(a, b, o, m, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r, c, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + r[:, None] * K + k[None, :], mask=r[:, None] < m, other=0.0)
    y = tl.load(b + k[:, None] * n + c[None, :], mask=c[None, :] < n, other=0.0)
    tl.store(o + r[:, None] * n + c[None, :], tl.dot(x, y, input_precision="ieee", out_dtype=o.dtype.element_ty),
             mask=(r[:, None] < m) & (c[None, :] < n))  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_of_a_dot_does_not_depend_on_the_tile(dtype):
    a, b = torch.randn(40, 64, dtype=dtype), torch.randn(64, 30, dtype=dtype)
    whole = torch.empty(40, 30, dtype=dtype)
    tile_dot[(1,)](a, b, whole, 40, 30, M=64, N=32, K=64)
    for row in range(0, 40, 7):
        alone = torch.empty(1, 30, dtype=dtype)
        tile_dot[(1,)](a[row], b, alone, 1, 30, M=16, N=32, K=64)
        assert torch.equal(alone[0], whole[row])
