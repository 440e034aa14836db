"""Rolled loops compute and report what the same loops do when every iteration is recorded."""

import functools

import pytest
import torch
import triton
import triton.language as tl

from conformance.events import Kind
from conformance.interpreter import launcher, rolling
from conformance.interpreter.launcher import kernel_of
from conformance.interpreter.tape import Node
from conformance.watchdog import HangError
from tests.interpreter.observing import line, observed, only


@triton.jit
def pointers(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    at = x + tl.program_id(0) * n + i
    for start in range(0, n, B):
        total += tl.load(at, mask=i < n - start, other=0.0)  # load
        at += B
    tl.store(o + tl.program_id(0) * B + i, total)


@triton.jit
def offsets(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        total = total * 0.5 + tl.load(x + at, mask=tl.arange(0, B) + start < n, other=0.0)
        at += B
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B), total)


@triton.jit
def rotating(x, o, n, B: tl.constexpr):
    before, now = tl.full((B,), 1.0, tl.float32), tl.full((B,), 2.0, tl.float32)
    for start in range(0, n, B):
        before, now = now, before * 0.5 + now * 0.25 + start
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B), before - now)


@triton.jit
def counting(x, o, n, B: tl.constexpr):
    done = 0
    scale = 1.0
    for _ in range(0, n, B):
        done += 1
        scale = scale * 0.5
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B), done + scale)


@triton.jit
def backwards(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    pair = (tl.zeros((B,), tl.float32), tl.full((B,), -float("inf"), tl.float32))
    for start in tl.range(n - 1, -1, -B):
        v = tl.load(x + start - i, mask=i <= start, other=0.0)
        pair = (pair[0] + v, tl.maximum(pair[1], v))
    tl.store(o + tl.program_id(0) * B + i, pair[0] + tl.where(pair[1] > 0, 1.0, 0.0))


@triton.jit
def longer(x, o, n, B: tl.constexpr):
    # programs differ in how often they go round
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, tl.minimum(n, tl.program_id(0) * B * 2 + 1), B):
        total += tl.load(x + start + i, mask=start + i < n, other=0.0)
    tl.store(o + tl.program_id(0) * B + i, total)


@triton.jit
def deciding(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        v = tl.load(x + start + i, mask=start + i < n, other=0.0)
        if tl.max(v, axis=0) > 1.0:
            total += v
        elif start == B:
            total -= v
    tl.store(o + tl.program_id(0) * B + i, total)


@triton.jit
def inner(x, total, row, n, B: tl.constexpr):
    i = tl.arange(0, B)
    last = total
    for start in range(0, n, B):
        last = total
        total += tl.load(x + row * n + start + i, mask=start + i < n, other=0.0)
    return total + last


@triton.jit
def nested(x, o, n, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for row in range(tl.program_id(0), 3):
        total = inner(x, total, row, n, B)
        for k in range(2):
            total += k
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B), total)


@triton.jit
def writing(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    for start in range(0, n, B):
        v = tl.load(x + start + i, mask=start + i < n, other=0.0)
        tl.atomic_add(o + i, v)
        tl.store(o + B + i, v)
        tl.debug_barrier()


KERNELS = (pointers, offsets, rotating, counting, backwards, longer, deciding, nested, writing)


def fresh(kernel):
    """The kernel without its tapes."""
    kernel.__dict__.pop("_conformance_kernel", None)
    return kernel


def results(kernel, sizes, **settings):
    found = []
    for n in sizes:
        x = torch.randn(3 * n + 8, generator=torch.Generator().manual_seed(n))
        o = torch.zeros(3 * 4)
        seen = observed(functools.partial(kernel[(3,)], x, o, n, B=4), inputs={"x": x}, inouts={"o": o}, **settings)
        found.append((o, sorted(map(str, seen.events))))
    return found


@pytest.mark.parametrize("order", ["row", "reverse"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_results_and_events_are_those_of_the_unrolled_loop(kernel, order, monkeypatch):
    sizes = (9, 1, 4, 17, 5, 12, 0, 33, 8, 9)
    rolled = results(fresh(kernel), sizes, order=order)
    monkeypatch.setattr(rolling, "wanted", lambda builder, frame: False)
    unrolled = results(fresh(kernel), sizes, order=order)
    for n, (one, some), (two, others) in zip(sizes, rolled, unrolled, strict=True):
        assert torch.equal(one, two), n
        assert some == others


def nodes(node: Node) -> int:
    return 1 + sum(map(nodes, node.children.values()))


@pytest.mark.parametrize("kernel", [pointers, backwards, longer], ids=lambda k: k.__name__)
def test_one_tape_serves_every_number_of_iterations(kernel):
    results(fresh(kernel), range(0, 60, 3))
    (root,) = kernel_of(kernel).roots.values()
    assert set(root.children) == {0, 1, 2}
    assert nodes(root) == 4


def test_what_only_a_late_iteration_does_wrong_is_found_at_its_line():
    n = 64
    x, o = torch.randn(n - 3), torch.zeros(4)
    for _ in range(2):
        seen = observed(lambda: fresh(pointers)[(1,)](x, o, n, B=4), inputs={"x": x}, outputs={"o": o})
        event = only(seen, Kind.OUT_OF_BOUNDS_READ)
        assert event.site.line == line(pointers, "load")
        assert event.count == 3


@triton.jit
def doubling(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B) + 1
    total = tl.zeros((B,), tl.float32)
    for _ in range(n):
        total += tl.load(x + at)
        at = at * 2  # product
    tl.store(o + tl.arange(0, B), total)


def test_an_offset_that_overflows_in_a_late_iteration_is_found():
    x, o = torch.empty(2**33, dtype=torch.int8), torch.empty(2)
    seen = observed(lambda: doubling[(1,)](x, o, 33, B=2), inputs={"x": x}, outputs={"o": o})
    assert only(seen, Kind.OVERFLOW).site.line == line(doubling, "product")


@triton.jit
def endless(o, n):
    total = tl.zeros((1,), tl.float32)
    for k in range(n):
        total += k
    tl.store(o + tl.arange(0, 1), total)


def test_a_loop_without_end_is_a_hang_whether_recorded_or_replayed(monkeypatch):
    monkeypatch.setattr(launcher, "SECONDS", 0.3)
    o = torch.empty(1)
    for _ in range(2):
        with pytest.raises(HangError, match="no end after") as hang:
            endless[(1,)](o, 2**31 - 1)
        assert "test_rolling.py" in str(hang.value)
        endless[(1,)](o, 5)
        assert o.item() == 10
