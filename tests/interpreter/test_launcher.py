"""Launches: order, subsets, dry runs, hangs, errors, tapes that are not reused where they must not be."""

import abc
import functools
import time

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.errors import InterpreterError

from conformance import watchdog
from conformance.events import Kind
from conformance.interpreter import HangError, launcher, programs, sites
from conformance.runtime import cannot_be_judged
from tests.interpreter.observing import line, observed, only


@triton.jit
def last_program(o):
    tl.store(o, tl.program_id(0))


def test_programs_run_in_the_order_that_is_asked_for():
    def last(**settings) -> int:
        o = torch.empty(1, dtype=torch.int32)
        observed(lambda: last_program[(10,)](o), outputs={"o": o}, **settings)
        return int(o.item())

    assert last() == 9
    assert last(order="reverse") == 0
    assert last(order="random", seed=1) == last(order="random", seed=1)
    assert len({last(order="random", seed=s) for s in range(20)}) > 3


@triton.jit
def mark(o):
    tl.store(o + (tl.program_id(0) * 3 + tl.program_id(1)) * 2 + tl.program_id(2), 1)


def test_row_order_has_x_outermost():
    ids, linear = launcher.program_ids((2, 3, 2), "row", 0)
    assert ids[:3].tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert linear.tolist() == list(range(12))


def test_a_subset_of_the_programs_can_be_run():
    o = torch.zeros(12, dtype=torch.int32)
    with programs(lambda ids: ids[:, 0] == 1):
        mark[(2, 3, 2)](o)
    assert o.tolist() == [0] * 6 + [1] * 6


def test_a_dry_run_notes_the_geometry_and_does_nothing():
    o = torch.zeros(12, dtype=torch.int32)
    seen = observed(lambda: mark[lambda meta: (2, 3, 2)](o, num_warps=2), outputs={"o": o}, dry=True)
    assert o.sum() == 0
    assert seen.geometry[0].grid == (2, 3, 2)
    assert seen.geometry[0].meta == (("num_warps", 2),)


def test_an_empty_grid_does_nothing():
    o = torch.zeros(12, dtype=torch.int32)
    mark[(0, 3)](o)
    assert o.sum() == 0


@triton.jit
def forever(x):
    while True:
        tl.load(x)  # loop


@triton.jit
def forever_idle(x):
    while True:
        pass


@triton.jit
def waits(x):
    while tl.load(x) == 0:
        pass


@pytest.mark.parametrize("kernel", [forever, forever_idle, waits], ids=lambda k: k.__name__)
def test_a_kernel_that_does_not_end_is_ended(kernel, monkeypatch):
    monkeypatch.setattr(launcher, "SECONDS", 0.3)
    x = torch.zeros(1)

    def run():
        with pytest.raises(HangError, match=kernel.__name__):
            kernel[(2,)](x)

    event = only(observed(run, inputs={"x": x}), Kind.HANG)
    assert event.site.file == __file__
    assert "no end" in event.detail
    if kernel is forever:
        assert event.site.line == line(forever, "loop")


def test_the_line_of_a_hang_is_the_kernels_where_python_was_interrupted_in_its_own_code():
    assert sites.foreign(abc.ABCMeta.register.__code__.co_filename)
    assert not sites.foreign(__file__)


def lose_the_processor():
    time.sleep(1.5)


@triton.jit
def slow(x):
    lose_the_processor()
    for _ in range(600):
        tl.load(x)


def test_a_kernel_that_waits_for_its_turn_on_a_loaded_machine_is_no_hang(monkeypatch):
    monkeypatch.setattr(launcher, "SECONDS", 1.0)
    x = torch.zeros(1)
    seen = observed(lambda: slow[(1,)](x), inputs={"x": x})
    assert not [e for e in seen.events if e.kind is Kind.HANG]


def test_a_deadline_counts_computing_and_much_longer_waiting():
    waiting, computing = watchdog.Deadline(0.02), watchdog.Deadline(10.0)
    time.sleep(0.1)
    assert not waiting.passed()
    time.sleep(0.3)
    assert waiting.passed() == "no end after 0.3 s of waiting"
    assert not computing.passed()
    computing.cpu = computing.clock()
    sum(range(1000))
    assert computing.passed() == "no end after 10 s of computing"


@triton.jit
def raises(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), tl.arange(0, B * 2))  # here


def test_an_error_names_the_kernels_line():
    with pytest.raises(InterpreterError, match=f":{line(raises, 'here')}$"):
        raises[(1,)](torch.zeros(8), B=4)


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match="missing arguments: B"):
        raises[(1,)](torch.zeros(8))
    with pytest.raises(TypeError, match="takes 2 arguments but 3"):
        raises[(1,)](torch.zeros(8), 4, 5)


SCALE: tl.constexpr = tl.constexpr(2)


@triton.jit
def scaled(o, factor: tl.constexpr):
    tl.store(o, SCALE * factor)


def test_a_tape_is_not_reused_for_another_constant(monkeypatch):
    o = torch.zeros(1)
    for factor, want in ((1, 2), (1.0, 2), (2.5, 5), (True, 2), (0.0, 0)):
        scaled[(1,)](o, factor)
        assert o.item() == want
    monkeypatch.setitem(globals(), "SCALE", tl.constexpr(3))
    scaled[(1,)](o, 1)
    assert o.item() == 3


@triton.jit
def split_after_store(x, o, n):
    p = tl.program_id(0)
    tl.store(o + p, tl.load(o + p) + 1)
    for i in range(tl.load(x + p)):
        tl.store(o + p, tl.load(o + p) + i)
    if p % 3 == 0:
        return
    tl.store(o + p, tl.load(o + p) * 2)


def test_programs_that_part_after_a_store_do_nothing_twice():
    counts = [3, 0, 5, 1, 3, 0, 2]
    for turn in (counts, counts[::-1], counts):  # recorded, recorded in part, and replayed
        x, o = torch.tensor(turn, dtype=torch.int32), torch.zeros(7, dtype=torch.int32)
        want = [(1 + sum(range(n))) * (1 if p % 3 == 0 else 2) for p, n in enumerate(turn)]
        seen = observed(functools.partial(split_after_store[(7,)], x, o, 7), inputs={"x": x}, inouts={"o": o})
        assert not seen.events
        assert o.tolist() == want


@triton.jit
def with_tuple(pair, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(pair[0] + i) + pair[1])


def test_tuples_of_arguments_are_understood():
    x, o = torch.randn(8), torch.empty(8)
    assert not observed(lambda: with_tuple[(1,)]((x, 2), o, B=8), inputs={"x": x}, outputs={"o": o}).events
    assert torch.equal(o, x + 2)


def test_a_tensor_on_another_device_is_refused():
    with pytest.raises(ValueError, match="argument o is on meta"):
        last_program[(1,)](torch.empty(1, device="meta"))


def test_the_numbers_of_programs_cover_the_grid():
    for order in ("row", "reverse", "random"):
        _, linear = launcher.program_ids((3, 4, 5), order, 7)
        assert np.array_equal(np.sort(linear), np.arange(60))


@triton.jit
def by_assembly(x, y):
    value = tl.load(x)
    tl.store(y, tl.inline_asm_elementwise("abs.f32 $0, $1;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1))


def test_inline_assembly_cannot_be_judged_on_the_cpu():
    x, y = torch.ones(1), torch.ones(1)
    with pytest.raises(InterpreterError) as raised:
        observed(lambda: by_assembly[(1,)](x, y), inputs={"x": x}, outputs={"y": y})
    assert str(cannot_be_judged(raised.value)).startswith(
        "cannot be judged on a CPU: inline assembly `abs.f32 $0, $1;`: test this kernel on a GPU"
    )
