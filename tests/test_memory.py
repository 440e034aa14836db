"""Guarded tensors hold their values, and every stray byte round them is noticed."""

import pytest
import torch

from conformance.memory import GUARD, Allocations, extent, intercept, lazy, place
from conformance.poison import is_poison
from conformance.regions import Arena, Role

CPU = torch.device("cpu")


@pytest.fixture(autouse=True, params=["in place", "staged"])
def _staged(request, monkeypatch):
    """Tensors are laid out where they lie, or on the host as for a device."""
    if request.param == "staged":
        monkeypatch.setattr("conformance.memory._is_staged", lambda device, size: size < 1 << 20)


def guarded(values, strides, offset=0, role=Role.IN, **options):
    return place("x", values, strides, offset, role=role, arena=Arena(), device=CPU, **options)


@pytest.mark.parametrize(("strides", "offset"), [((3, 1), 0), ((1, 2), 0), ((8, 2), 0), ((3, 1), 1), ((100, 7), 5)])
def test_a_placed_tensor_has_its_layout_and_values(strides, offset):
    values = torch.arange(6.0).reshape(2, 3)
    placed = guarded(values, strides, offset)

    assert placed.tensor.stride() == strides
    assert torch.equal(placed.tensor, values)
    assert placed.changed() is None


def test_gaps_and_guard_zones_are_poisoned():
    placed = guarded(torch.zeros(2, 3), (8, 2))
    poisoned = is_poison(placed.storage, "nan")

    assert int((~poisoned).sum()) == 6


def test_the_base_keeps_the_alignment_of_the_storage():
    placed = guarded(torch.zeros(4, dtype=torch.float16), (1,))

    assert (placed.tensor.data_ptr() - placed.storage.data_ptr()) == GUARD
    assert placed.tensor.data_ptr() % 64 == placed.storage.data_ptr() % 64


def test_an_expanded_axis_holds_its_first_slice_everywhere():
    placed = guarded(torch.arange(6.0).reshape(2, 3), (0, 1))

    assert torch.equal(placed.tensor, torch.tensor([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]))


@pytest.mark.parametrize("where", [-1, 6, 200])
def test_a_write_outside_the_elements_is_noticed_whatever_the_role(where):
    for role in Role:
        placed = guarded(torch.arange(6.0), (1,), role=role)
        placed.storage[GUARD // 4 + where if where < 100 else -1] = 1.0

        assert placed.changed() is not None


def test_a_write_to_an_element_is_noticed_in_inputs_only():
    read, written = guarded(torch.zeros(3), (1,)), guarded(torch.zeros(3), (1,), role=Role.INOUT)
    read.tensor[1] = 5.0
    written.tensor[1] = 5.0

    assert read.changed().tolist() == [6, 7]
    assert written.changed() is None


def test_the_extent_counts_from_the_first_to_the_last_element():
    assert extent((2, 3), (10, 2)) == 15
    assert extent((0, 3), (10, 2)) == 0
    assert extent((), ()) == 1


def test_what_a_kernel_allocates_is_guarded_and_poisoned():
    allocations = Allocations(Arena(), CPU)
    with intercept(allocations):
        empty = torch.empty(5)
        like = torch.empty_like(torch.zeros(4, 6).t())
        zeros = empty.new_zeros(3)

    assert bool(is_poison(empty, "nan").all())
    assert like.stride() == (1, 6)
    assert zeros.tolist() == [0.0, 0.0, 0.0]
    assert empty.untyped_storage().nbytes() == 5 * 4 + 2 * GUARD


def test_a_fresh_allocation_counts_as_unwritten_until_torch_writes_it():
    allocations = Allocations(Arena(), CPU)
    with intercept(allocations):
        out = torch.empty(5)
    (placed,) = allocations.placed

    assert not placed.region.initialized
    out.zero_()
    assert placed.region.initialized


def test_torch_is_itself_again_outside_the_block():
    allocations = Allocations(Arena(), CPU)
    with intercept(allocations):
        pass
    torch.empty(5)

    assert allocations.placed == []


def test_lazy_memory_is_not_committed(resident):
    before = resident()
    storage = lazy(2**34, torch.int8, CPU)
    storage[2**33] = 1

    assert int(storage[2**33]) == 1
    assert resident() - before < 2**24  # a page, and what the allocator does meanwhile


def test_torch_scripts_a_function_with_factories_after_they_are_wrapped():
    with intercept(Allocations(Arena(), torch.device("cpu"))):
        pass

    assert torch.jit.script(scripted)(torch.ones(3)).tolist() == [0.0, 0.0, 0.0, 1.0]


def scripted(x):
    return torch.cat([torch.zeros_like(x), torch.ones(1)])
