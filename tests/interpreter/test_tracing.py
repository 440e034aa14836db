"""Every kind of event is seen, at the right line, and clean kernels give none."""

import functools

import pytest
import torch
import triton
import triton.language as tl

from conformance.events import Kind
from conformance.interpreter import unwritten
from tests.interpreter.observing import kinds, line, observed, only, region

NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux; Python's mmap names it from 3.13 on


@triton.jit
def copy_with_open_load(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)  # load
    tl.store(o + i, v, mask=i < n)


def test_a_load_beyond_the_last_element_is_out_of_bounds_even_if_its_value_is_dropped():
    x, o = torch.randn(70), torch.empty(70)
    seen = observed(lambda: copy_with_open_load[(5,)](x, o, 70, B=16), inputs={"x": x}, outputs={"o": o})
    event = only(seen, Kind.OUT_OF_BOUNDS_READ)
    assert event.argument == "x"
    assert event.offset == 280
    assert event.count == 10
    assert event.programs == ((4, 0, 0),)
    assert event.site.line == line(copy_with_open_load, "load")
    assert event.kernel == "copy_with_open_load"
    assert torch.equal(x, o)
    assert unwritten(region(seen, "o")) == (0, None)


@triton.jit
def copy_one_too_many(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i <= n)  # store


def test_a_store_beyond_the_last_element_is_out_of_bounds_and_is_not_done():
    x, storage = torch.randn(70), torch.zeros(80)
    o = storage[:70]
    seen = observed(lambda: copy_one_too_many[(5,)](x, o, 70, B=16), inputs={"x": x}, outputs={"o": o})
    event = only(seen, Kind.OUT_OF_BOUNDS_WRITE)
    assert event.count == 1
    assert event.site.line == line(copy_one_too_many, "store")
    assert storage[70] == 0


def test_a_missing_program_leaves_elements_unwritten():
    x, o = torch.randn(70), torch.empty(70)
    seen = observed(lambda: copy_one_too_many[(4,)](x, o, 70, B=16), inputs={"x": x}, outputs={"o": o})
    assert not seen.events
    assert unwritten(region(seen, "o")) == (6, (64,))


def test_the_space_between_rows_is_a_gap_and_what_lies_behind_is_outside():
    x, o = torch.randn(5, 9)[:, :7], torch.empty(5, 7)
    seen = observed(lambda: copy_with_open_load[(3,)](x, o, 35, B=16), inputs={"x": x}, outputs={"o": o})
    assert only(seen, Kind.GAP_READ).count == 8
    assert only(seen, Kind.OUT_OF_BOUNDS_READ).count == 5


def test_a_store_into_a_gap_is_seen():
    x, o = torch.randn(35), torch.empty(5, 9)[:, :7]
    seen = observed(lambda: copy_one_too_many[(1,)](x, o, 35, B=32), inputs={"x": x}, outputs={"o": o})
    assert only(seen, Kind.GAP_WRITE).index is None
    assert unwritten(region(seen, "o")) == (9, (3, 5))


@triton.jit
def shift_in_place(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i + 1, mask=i + 1 < n, other=0)  # load
    tl.store(x + i, v, mask=i < n)  # store


def test_a_shift_in_place_is_a_race_whatever_the_order():
    for order in ("row", "reverse", "random"):
        x = torch.randn(70)
        seen = observed(lambda x=x: shift_in_place[(5,)](x, 70, B=16), inouts={"x": x}, order=order, seed=3)
        assert kinds(seen) <= {Kind.WRITE_AFTER_READ, Kind.READ_AFTER_WRITE}
        assert seen.events


def test_a_write_to_an_input_is_seen():
    x = torch.randn(70)
    seen = observed(lambda: shift_in_place[(5,)](x, 70, B=16), inputs={"x": x})
    event = only(seen, Kind.INPUT_WRITE)
    assert event.count == 70
    assert event.site.line == line(shift_in_place, "store")


@triton.jit
def accumulate(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.sum(tl.load(x + i, mask=i < n, other=0))
    tl.store(o, tl.load(o) + s)  # update


def test_a_sum_without_atomics_is_a_conflict():
    x, o = torch.randn(70), torch.zeros(1)
    seen = observed(lambda: accumulate[(5,)](x, o, 70, B=16), inputs={"x": x}, inouts={"o": o})
    event = only(seen, Kind.WRITE_CONFLICT)
    assert event.index == (0,)
    assert len(event.programs) == 2
    assert event.site.line == line(accumulate, "update")


def test_reading_what_nobody_wrote_is_seen():
    x, o = torch.randn(70), torch.empty(1)
    seen = observed(lambda: accumulate[(1,)](x, o, 70, B=128), inputs={"x": x}, outputs={"o": o})
    assert kinds(seen) == {Kind.UNINITIALIZED_READ}


def test_a_second_launch_may_read_what_the_first_one_wrote():
    x, o = torch.randn(70), torch.empty(70)

    def run():
        copy_one_too_many[(7,)](x, o, 69, B=10 // 10 * 16)
        shift_in_place[(1,)](o, 69, B=128)

    assert not observed(run, inputs={"x": x}, outputs={"o": o}).events


@triton.jit
def store_lanes(o, B: tl.constexpr, SAME: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i // 2, i * 0 if SAME else i)  # store


def test_two_lanes_that_store_different_values_conflict_and_equal_ones_do_not():
    o = torch.empty(8, dtype=torch.int32)
    seen = observed(lambda: store_lanes[(1,)](o, B=16, SAME=False), outputs={"o": o})
    event = only(seen, Kind.LANE_CONFLICT)
    assert event.count == 8
    assert event.site.line == line(store_lanes, "store")
    assert not observed(lambda: store_lanes[(1,)](o, B=16, SAME=True), outputs={"o": o}).events


@triton.jit
def placed(x, at, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + tl.load(at + i, mask=i < n, other=0), tl.load(x + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("apart", [1, 7, 100], ids=lambda k: f"{k} apart")
@pytest.mark.parametrize("order", ["ascending", "shuffled"])
def test_an_element_that_is_stored_twice_is_found_wherever_it_lies(order, apart):
    n = 21
    at = (torch.randperm(n) if order == "shuffled" else torch.arange(n)) * apart
    x = torch.randn(n)
    for twice in (False, True):
        o = torch.zeros(n * apart)
        if twice:
            at[17] = at[18]
        run = functools.partial(placed[(2,)], x, at, o, n, B=16)
        seen = observed(run, inputs={"x": x, "at": at}, inouts={"o": o[::apart]})
        if twice:
            event = only(seen, Kind.LANE_CONFLICT)
            assert event.index == (int(at[18]) // apart,)
            assert event.programs == ((1, 0, 0),) * 2
        else:
            assert not seen.events
            assert torch.equal(o[at], x)


@triton.jit
def wild(o, address):
    p = address.to(tl.pointer_type(tl.float32))
    tl.store(o, tl.load(p))  # load


def test_a_wild_pointer_is_seen_and_never_followed():
    o = torch.empty(1)
    seen = observed(lambda: wild[(1,)](o, 12345), outputs={"o": o})
    event = only(seen, Kind.WILD_POINTER)
    assert event.site.line == line(wild, "load")


@triton.jit
def through_table(table, o, n, B: tl.constexpr):
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, B)
    tl.store(o + tl.program_id(0) * n + i, tl.load(p + i, mask=i < n), mask=i < n)


def test_pointers_loaded_from_memory_are_looked_up_among_the_tensors_of_the_call():
    xs = [torch.randn(5) for _ in range(3)]
    table, o = torch.tensor([x.data_ptr() for x in xs]), torch.empty(3, 5)
    named = {f"x{i}": x for i, x in enumerate(xs)}
    seen = observed(lambda: through_table[(3,)](table, o, 5, B=8), inputs={"table": table, **named}, outputs={"o": o})
    assert not seen.events
    assert torch.equal(o, torch.stack(xs))
    seen = observed(
        lambda: through_table[(3,)](table, o, 6, B=8), inputs={"table": table, **named}, outputs={"o": torch.empty(0)}
    )
    assert Kind.WILD_POINTER in kinds(seen)


@triton.jit
def choose(a, b, o, flag, n, B: tl.constexpr):
    i = tl.arange(0, B)
    p = tl.where(tl.program_id(0) == flag, a, b)
    tl.store(o + tl.program_id(0) * B + i, tl.load(p + i, mask=i < n, other=0.0))


def test_a_pointer_chosen_at_run_time_keeps_its_tensor():
    a, b, o = torch.randn(8), torch.randn(6), torch.empty(2, 8)
    names = {"a": a, "b": b}
    assert not observed(lambda: choose[(2,)](a, b, o, 0, 6, B=8), inputs=names, outputs={"o": o}).events
    seen = observed(lambda: choose[(2,)](a, b, o, 0, 8, B=8), inputs=names, outputs={"o": o})
    assert only(seen, Kind.OUT_OF_BOUNDS_READ).argument == "b"


@triton.jit
def address_as_number(x, o):
    tl.store(o, x.to(tl.int64))


def test_an_address_stored_as_a_number_is_the_true_one():
    x, o = torch.randn(3), torch.empty(1, dtype=torch.int64)
    assert not observed(lambda: address_as_number[(1,)](x, o), inputs={"x": x}, outputs={"o": o}).events
    assert o.item() == x.data_ptr()


@triton.jit
def helper(p, i, n):
    return tl.load(p + i, mask=i <= n)  # helper


@triton.jit
def uses_helper(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, helper(x, i, n), mask=i < n)


def test_the_line_is_that_of_the_innermost_function():
    x, o = torch.randn(5), torch.empty(5)
    seen = observed(lambda: uses_helper[(1,)](x, o, 5, B=8), inputs={"x": x}, outputs={"o": o})
    event = only(seen, Kind.OUT_OF_BOUNDS_READ)
    assert event.site.line == line(helper, "helper")
    assert event.site.file == __file__
    assert "tl.load" in event.site.source


@triton.jit
def masked_without_other(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o, tl.sum(tl.load(x + i, mask=i < n)))


def test_masked_lanes_without_other_are_poisoned():
    x, o = torch.ones(5), torch.empty(1)
    assert not observed(lambda: masked_without_other[(1,)](x, o, 5, B=8), inputs={"x": x}, outputs={"o": o}).events
    assert o.isnan().all()


@triton.jit
def matmul_moving(a, b, c, k, sa, sb, B: tl.constexpr):
    r = tl.arange(0, B)
    pa, pb = a + r[:, None] * sa + r[None, :], b + r[:, None] * sb + r[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, k, B):
        acc += tl.dot(tl.load(pa), tl.load(pb), input_precision="ieee")
        pa += B
        pb += B * sb
    tl.store(c + r[:, None] * B + r[None, :], acc)


def test_pointers_that_leave_their_tensor_after_the_last_iteration_are_legal():
    a, b, c = torch.randn(16, 48), torch.randn(48, 16), torch.empty(16, 16)
    seen = observed(lambda: matmul_moving[(1,)](a, b, c, 48, 48, 16, B=16), inputs={"a": a, "b": b}, outputs={"c": c})
    assert not seen.events
    torch.testing.assert_close(c, a @ b)


@triton.jit
def copy_strided(x, o, rows, columns, s0, s1, t0, t1, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    inside = (r < rows) & (c < columns)
    tl.store(o + r * t0 + c * t1, tl.load(x + r * s0 + c * s1, mask=inside), mask=inside)


def test_every_view_is_clean_when_its_strides_are_used():
    base = torch.randn(12, 12)
    views = (
        base[:5, :7], base.t()[:5, :7], base[::2, ::3][:5, :4], base[1:6, 2:9], base[0].expand(5, 12),
        base[:, :1].expand(12, 7), torch.randn(1).expand(5, 7), torch.randn(20).as_strided((5, 7), (2, 1)),
    )  # fmt: skip
    for x in views:
        for o in (
            torch.empty(x.shape),
            torch.empty(x.shape[::-1]).t(),
            torch.empty(20, 20)[3 : 3 + x.shape[0], : x.shape[1]],
        ):
            seen = observed(
                lambda x=x, o=o: copy_strided[(1,)](x, o, *x.shape, *x.stride(), *o.stride(), R=16, C=16),
                inputs={"x": x},
                outputs={"o": o},
            )
            assert not seen.events, (x.shape, x.stride())
            assert torch.equal(x, o)
            assert unwritten(region(seen, "o")) == (0, None)


def test_a_row_passed_as_base_pointer_may_reach_the_whole_tensor():
    x, o = torch.randn(4, 8), torch.empty(4, 8)
    seen = observed(
        lambda: copy_strided[(1,)](x[1], o[1], 3, 8, 8, 1, 8, 1, R=4, C=8), inputs={"x": x}, outputs={"o": o}
    )
    assert not seen.events


def test_a_copy_made_by_the_launcher_is_known_from_its_storage():
    x, o = torch.randn(8, 4).t(), torch.empty(4, 8)
    seen = observed(
        lambda: copy_strided[(1,)](x.contiguous(), o, 4, 8, 8, 1, 8, 1, R=4, C=8), inputs={"x": x}, outputs={"o": o}
    )
    assert not seen.events
    seen = observed(
        lambda: copy_strided[(1,)](x.contiguous(), o, 4, 8, 9, 1, 8, 1, R=4, C=8), inputs={"x": x}, outputs={"o": o}
    )
    assert only(seen, Kind.OUT_OF_BOUNDS_READ).argument == "x"


@triton.jit
def add_in_place(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def test_work_in_place_is_clean_where_each_program_keeps_to_its_elements():
    x, y = torch.randn(70), torch.randn(70)
    assert not observed(lambda: add_in_place[(5,)](x, y, 70, B=16), inouts={"x": x}, inputs={"y": y}).events


@triton.jit
def split_k(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o + i % 4, tl.load(x + i, mask=i < n), mask=i < n)


def test_atomics_do_not_conflict_among_themselves():
    x, o = torch.randn(70), torch.zeros(4)
    assert not observed(lambda: split_k[(5,)](x, o, 70, B=16), inputs={"x": x}, inouts={"o": o}).events


def test_an_atomic_update_of_memory_that_nobody_wrote_is_an_uninitialized_read():
    x, o = torch.randn(70), torch.empty(4)
    seen = observed(lambda: split_k[(5,)](x, o, 70, B=16), inputs={"x": x}, outputs={"o": o})
    assert kinds(seen) == {Kind.UNINITIALIZED_READ}


@triton.jit
def under_lock(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + 1)
    tl.atomic_xchg(lock, 0)


def test_accesses_under_a_lock_are_ordered():
    lock, total = torch.zeros(1, dtype=torch.int32), torch.zeros(1)
    assert not observed(lambda: under_lock[(8,)](lock, total), inouts={"lock": lock, "total": total}).events
    assert total.item() == 8


def test_a_lock_lets_the_order_of_programs_change_a_sum():
    lock, total = torch.zeros(1, dtype=torch.int32), torch.zeros(1)
    assert observed(lambda: under_lock[(8,)](lock, total), inouts={"lock": lock, "total": total}).float_atomics


@triton.jit
def last_one_sums(x, part, count, o, n, B: tl.constexpr, P: tl.constexpr):
    p = tl.program_id(0)
    i = p * B + tl.arange(0, B)
    tl.store(part + p, tl.sum(tl.load(x + i, mask=i < n, other=0)))
    if tl.atomic_add(count, 1) == tl.num_programs(0) - 1:
        tl.store(o, tl.sum(tl.load(part + tl.arange(0, P))))


def test_the_last_program_may_read_what_all_wrote_before_they_counted():
    x, part, o = torch.randn(64), torch.empty(4), torch.empty(1)
    count = torch.zeros(1, dtype=torch.int32)
    seen = observed(
        lambda: last_one_sums[(4,)](x, part, count, o, 64, B=16, P=4),
        inputs={"x": x},
        outputs={"part": part, "o": o},
        inouts={"count": count},
    )
    assert not seen.events
    torch.testing.assert_close(o[0], x.sum())


@triton.jit
def check(x, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    tl.device_assert(v < 3, "too large")  # assert


def test_a_failed_device_assert_is_an_event_that_ends_nothing():
    x = torch.tensor([1.0, 5.0, 2.0, 7.0])
    event = only(observed(lambda: check[(1,)](x, B=4), inputs={"x": x}), Kind.DEVICE_ASSERT)
    assert event.count == 2
    assert event.site.line == line(check, "assert")
    assert "too large" in event.detail


@triton.jit
def between(x, o):
    bytes_of = x.to(tl.pointer_type(tl.int8)) + 2
    tl.store(o, tl.load(bytes_of.to(tl.pointer_type(tl.float32))))  # odd


def test_an_address_between_two_elements_is_out_of_bounds():
    x, o = torch.randn(4), torch.empty(1)
    event = only(observed(lambda: between[(1,)](x, o), inputs={"x": x}, outputs={"o": o}), Kind.GAP_READ)
    assert event.offset == 2
    assert event.site.line == line(between, "odd")


@triton.jit
def nothing(x):
    tl.load(x)


def test_a_grid_that_no_gpu_can_launch_is_seen():
    x = torch.zeros(1)
    event = only(observed(lambda: nothing[(1, 65536)](x), inputs={"x": x}), Kind.GRID_LIMIT)
    assert "65536" in event.detail


def test_a_view_of_64_gib_costs_no_memory(resident):
    import mmap

    memory = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    x = torch.frombuffer(memory, dtype=torch.float32).as_strided((4, 8), (2**31 + 16, 1))
    o = torch.empty(4, 8)

    observed(lambda: copy_strided[(1,)](x, o, 4, 8, *x.stride(), 8, 1, R=4, C=8), inputs={"x": x}, outputs={"o": o})
    before = resident()
    seen = observed(lambda: copy_strided[(1,)](x, x, 4, 8, *x.stride(), *x.stride(), R=4, C=8), inouts={"x": x})
    assert not seen.events
    assert unwritten(region(seen, "x")) == (0, None)
    assert resident() - before < 50e6
