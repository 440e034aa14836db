from __future__ import annotations

import gc

import host_pages
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conformance.device.fence import ALIGNMENT, Fence, Pool
from conformance.memory import Allocations, intercept, place
from conformance.regions import Arena, Role

CPU = torch.device("cpu")
DTYPES = (torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex128)


def placed(fence, shape=(3, 5), strides=None, offset=0, dtype=torch.float16, **options):
    values = torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)
    strides = values.stride() if strides is None else strides
    return place(
        "x", values, strides, offset, role=Role.IN, arena=Arena(), device=CPU, allocator=fence, **options
    ), values


def ends(item, pool):
    """The distances in bytes of the first and the last element from the unmapped pages on either side."""
    tensor, size = item.tensor, pool.pages.granularity
    first = tensor.data_ptr()
    reach = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    last = first + reach * tensor.element_size()
    return first % size, -last % size


@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 70),
    pad=st.integers(0, 5),
    dtype=st.sampled_from(DTYPES),
)
def test_the_last_byte_of_an_unaligned_tensor_lies_at_the_end_of_the_mapping(rows, columns, pad, dtype):
    pool = Pool(host_pages.HostPages())
    item, values = placed(Fence(pool, "end", unaligned=True), (rows, columns), (columns + pad, 1), dtype=dtype)
    assert ends(item, pool)[1] == 0
    assert torch.equal(item.tensor, values)


@given(elements=st.integers(1, 300), dtype=st.sampled_from(DTYPES))
def test_an_aligned_tensor_at_the_end_is_less_than_one_vector_from_the_page(elements, dtype):
    pool = Pool(host_pages.HostPages())
    item, _ = placed(Fence(pool, "end"), (elements,), dtype=dtype)
    assert item.tensor.data_ptr() % ALIGNMENT == 0
    assert ends(item, pool)[1] < ALIGNMENT


@given(elements=st.integers(1, 300), dtype=st.sampled_from(DTYPES))
def test_a_tensor_at_the_start_begins_with_the_first_mapped_byte(elements, dtype):
    pool = Pool(host_pages.HostPages())
    item, values = placed(Fence(pool, "start"), (elements,), dtype=dtype)
    assert ends(item, pool)[0] == 0
    assert torch.equal(item.tensor, values)


def test_a_storage_offset_keeps_the_alignment_that_was_drawn():
    pool = Pool(host_pages.HostPages())
    for side in ("start", "end"):
        item, _ = placed(Fence(pool, side), (5,), offset=3, dtype=torch.float32)
        assert item.tensor.data_ptr() % ALIGNMENT == 12


@pytest.mark.parametrize("side", ["start", "end"])
def test_a_write_on_the_side_that_is_not_flush_is_seen(side):
    item, _ = placed(Fence(Pool(host_pages.HostPages()), side, unaligned=True), (4,), dtype=torch.float32)
    assert item.changed() is None
    stray = 4 if side == "start" else -1
    item.storage[item.tensor.storage_offset() + stray] = 7.0
    changed = item.changed()
    assert changed is not None
    assert int(changed[0]) // 4 == stray


def test_a_write_between_an_aligned_tensor_and_the_page_is_seen():
    item, _ = placed(Fence(Pool(host_pages.HostPages()), "end"), (3,), dtype=torch.float16)
    item.storage[item.tensor.storage_offset() + 3] = 7.0
    assert item.changed() is not None


def test_an_empty_tensor_can_be_placed_on_either_side():
    for side in ("start", "end"):
        item, _ = placed(Fence(Pool(host_pages.HostPages()), side, unaligned=True), (0, 5))
        assert item.tensor.shape == (0, 5)
        assert item.changed() is None


def test_what_the_kernel_allocates_is_fenced_and_keeps_its_alignment():
    pool = Pool(host_pages.HostPages())
    allocations = Allocations(Arena(), CPU, allocator=Fence(pool, "end", unaligned=True))
    with intercept(allocations):
        made = torch.empty(7, dtype=torch.float16)
        zeros = torch.zeros(8, dtype=torch.float16)
    assert pool.made == 2
    assert made.data_ptr() % ALIGNMENT == 0
    assert ends(allocations.placed[1], pool)[1] == 0
    assert not zeros.any()


def test_mappings_are_reused_when_the_last_tensor_over_them_dies():
    pool = Pool(host_pages.HostPages())
    for _ in range(20):
        item, _ = placed(Fence(pool, "end"), (40,))
        view = item.tensor[3:]
        del item
        gc.collect()
        assert view.shape == (37,)
        del view
        gc.collect()
    assert pool.made == 1


def test_a_view_keeps_its_mapping_from_being_reused():
    pool = Pool(host_pages.HostPages())
    view = placed(Fence(pool, "end"), (40,))[0].tensor[3:]
    gc.collect()
    other = placed(Fence(pool, "end"), (40,))[0]
    other.tensor.fill_(-1)
    assert torch.equal(view, torch.arange(3, 40).half())


def test_a_full_device_is_trimmed_before_memory_counts_as_lacking():
    pages = host_pages.HostPages(limit=8 * host_pages.HostPages.granularity)
    pool = Pool(pages)
    del [pool.lease(pages.granularity * 2) for _ in range(3)][:]
    gc.collect()
    assert pool.lease(pages.granularity * 6).mapping.size == 6 * pages.granularity
    with pytest.raises(torch.OutOfMemoryError, match="fenced memory"):
        pool.lease(pages.granularity * 9)


def test_the_pool_keeps_no_more_than_its_limit():
    pages = host_pages.HostPages()
    pool = Pool(pages, kept=2 * pages.granularity)
    leases = [pool.lease(1) for _ in range(5)]
    leases.clear()
    gc.collect()
    assert pages.mapped == 2 * pages.granularity
