"""Loop variables: integers of the compiler's, whichever way a kernel writes its loop."""

import functools

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.errors import InterpreterError

from conformance.interpreter.launcher import kernel_of
from tests.interpreter.observing import observed


@triton.jit
def persistent(x, o, n, B: tl.constexpr):
    for t in range(tl.program_id(0), tl.cdiv(n, B), tl.num_programs(0)):
        i = t.to(tl.int64) * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def persistent_wide(x, o, n, B: tl.constexpr):
    for t in tl.range(tl.program_id(0), tl.cdiv(n, B), tl.num_programs(0), num_stages=2):
        tile = (t * B).to(tl.int64)
        i = tile + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@pytest.mark.parametrize("kernel", [persistent, persistent_wide], ids=lambda k: k.__name__)
def test_a_persistent_loop_over_tiles_widens_its_variable(kernel):
    for n, programs in ((100, 3), (7, 4), (64, 1), (100, 3)):
        x, o = torch.randn(n), torch.empty(n)
        run = functools.partial(kernel[(programs,)], x, o, n, B=16)
        seen = observed(run, inputs={"x": x}, outputs={"o": o})
        assert torch.equal(o, x * 2)
        assert not seen.events


@triton.jit
def negative(o, n, B: tl.constexpr):
    for st in range(0, n, B):
        tl.store(o + st // B * 2, (st - B) // (2 * B))
        tl.store(o + st // B * 2 + 1, (st - 3) % (2 * B))


def test_division_of_a_loop_variable_truncates_as_in_compiled_code():
    o = torch.zeros(8, dtype=torch.int32)
    negative[(1,)](o, 16, B=4)
    assert o.tolist() == [0, -3, 0, 1, 0, 5, 1, 1]


@triton.jit
def half(x, k):
    return x * (k - 1) // 2


STEP: tl.constexpr = tl.constexpr(4)


@triton.jit
def uses(x, o, n, B: tl.constexpr):
    scales = (1.0, 2.0, 3.0)
    total = tl.zeros((B,), tl.float32)
    for k in range(3):
        v = tl.load(x + k * STEP + STEP * k + tl.arange(0, B))
        if k == 0 or (k % 2 == 1 and n > k):
            total += v * scales[k]
        else:
            total = tl.where(tl.arange(0, B) >= k, total - v * k, total)
    for k in tl.static_range(2):
        total += k
    for k in range(n, -1, -1):
        total += half(2, k).to(tl.float32)
    tl.store(o + tl.arange(0, B), total)


def test_loop_variables_index_tuples_decide_branches_and_are_passed_on():
    x, o = torch.randn(40), torch.empty(8)
    uses[(1,)](x, o, 3, B=8)
    total = x[0:8] + x[8:16] * 2
    total = torch.where(torch.arange(8) >= 2, total - x[16:24] * 2, total) + 1
    assert torch.allclose(o, total + sum(k - 1 for k in range(3, -1, -1)))


@triton.jit
def types(o, n, big):
    for k in range(n):
        tl.static_assert(k.dtype == tl.int32)
        tl.static_assert(k.type == tl.int32)
        tl.store(o, k.to(tl.float32) / 2)
    for k in range(big, big + 1):
        tl.static_assert(k.dtype == tl.int64)
        tl.store(o + 1, k.to(tl.float32))


def test_a_loop_variable_has_the_type_of_its_bounds():
    o = torch.zeros(2)
    types[(1,)](o, 4, 2**40)
    assert o.tolist() == [1.5, 2.0**40]


@triton.jit
def quotients(o, a, b):
    for k in range(a, a + 1):
        for j in range(b, b + 1):
            tl.store(o, k // j)
            tl.store(o + 1, k % j)


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (-6, 3), (0, -5)])
def test_quotient_and_remainder_are_those_of_c(a, b):
    o = torch.zeros(2, dtype=torch.int32)
    quotients[(1,)](o, a, b)
    assert o.tolist() == [int(a / b), a - int(a / b) * b]


@triton.jit
def scalars(o, n):
    for k in range(n):
        tl.store(o, k / 4)
        tl.store(o + 1, (k == 0).to(tl.float32))
        tl.store(o + 2, tl.minimum(k, 2).to(tl.float32))
        tl.store(o + 3, ((k + 2147483646) < 0).to(tl.float32))


def test_everything_computed_from_a_loop_variable_is_a_scalar():
    o = torch.zeros(4)
    scalars[(1,)](o, 4)
    assert o.tolist() == [0.75, 0.0, 2.0, 1.0]


@triton.jit
def tiles(x, o, n, B: tl.constexpr):
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def test_launches_of_as_many_iterations_replay_one_tape():
    for n in (17, 20, 32, 24, 31):
        x, o = torch.randn(n), torch.empty(n)
        tiles[(1,)](x, o, n, B=16)
        assert torch.equal(o, x * 2)
    (root,) = kernel_of(tiles).roots.values()
    assert len(root.children) == 1


@triton.jit
def still(o, n):
    for k in range(0, 4, n):
        tl.store(o, k)


def test_a_step_of_zero_is_an_error():
    with pytest.raises(InterpreterError, match="step of a range is zero"):
        still[(1,)](torch.zeros(1, dtype=torch.int32), 0)


def test_host_code_of_the_same_module_keeps_its_range():
    assert [type(k) for k in range(2)] == [int, int]
