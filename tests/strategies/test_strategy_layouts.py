import pytest
import torch
from hypothesis.errors import InvalidArgument
from strategy_verbs import find_any, minimal

import strategies as kst
from strategies.layouts import plans


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "kind"),
    [
        ((3, 4), (4, 1), 0, "contiguous"),
        ((3, 4), (4, 1), 2, "offset"),
        ((3, 4), (6, 1), 0, "padded"),
        ((3, 4), (8, 2), 0, "sliced"),
        ((3, 4), (9, 2), 0, "padded+sliced"),
        ((3, 4), (1, 3), 0, "transposed"),
        ((2, 3, 4), (1, 2, 6), 0, "permuted"),
        ((2, 3, 4), (12, 1, 3), 0, "transposed"),
        ((3, 4), (0, 1), 0, "expanded"),
        ((3, 4), (0, 0), 1, "offset+expanded"),
        ((5, 1), (2, 1), 0, "padded"),
        ((5, 1), (1, 7), 0, "odd_ones"),
        ((1, 5), (5, 1), 0, "contiguous"),
        ((5,), (3,), 0, "sliced"),
        ((), (), 0, "contiguous"),
        ((0, 4), (9, 2), 0, "contiguous"),
        ((3, 4), (2**30, 1), 0, "padded+huge"),
    ],
)
def test_the_kind_is_read_off_the_geometry(shape, strides, offset, kind):
    assert kst.layout(shape, strides, offset).kind == kind


@pytest.mark.parametrize("kind", kst.LAYOUTS)
def test_every_kind_is_found_and_found_alone(kind):
    strategy = kst.tensors("a", "b", "c") if kind == "permuted" else kst.tensors("a", "b")

    find_any(strategy, lambda tensor: kind in tensor.layout.kinds)
    assert minimal(strategy, lambda tensor: kind in tensor.layout.kinds).layout.kinds == (kind,)


def test_contiguous_is_the_simplest_layout():
    assert minimal(kst.tensors("a", "b")).layout.is_contiguous


def test_bases_are_aligned_to_16_bytes_and_not():
    strategy = kst.tensors("n", dtypes=(torch.float32,))

    find_any(strategy, lambda tensor: tensor.layout.offset and tensor.layout.offset * 4 % 16 == 0)
    find_any(strategy, lambda tensor: tensor.layout.offset * 4 % 16 != 0)


def test_row_strides_divide_by_16_and_do_not():
    strategy = kst.tensors("rows", "cols")

    def padded(tensor, aligned):
        return "padded" in tensor.layout.kinds and (tensor.layout.strides[0] % 16 == 0) == aligned

    find_any(strategy, lambda tensor: padded(tensor, True))
    find_any(strategy, lambda tensor: padded(tensor, False))


def test_two_kinds_come_together():
    find_any(kst.tensors("rows", "cols"), lambda tensor: {"padded", "transposed"} <= set(tensor.layout.kinds))


@pytest.mark.parametrize("rank", range(5))
def test_plans_keep_the_elements_inside_their_storage_and_apart(rank):
    shape = (2, 3, 5, 4)[:rank]
    for plan in dict.fromkeys(plans(rank)):
        made = plan.layout(shape)
        storage = torch.zeros(made.extent, dtype=torch.int32)
        view = storage.as_strided(shape, made.strides, made.offset)
        if "expanded" not in made.kinds:
            view.copy_(torch.arange(1, view.numel() + 1).reshape(shape))
            assert sorted(storage[storage > 0].tolist()) == list(range(1, view.numel() + 1))


def test_a_huge_layout_passes_the_32_bit_offset_on_its_last_row():
    made = kst.huge((3, 8))

    assert "huge" in made.kinds
    assert made.strides[0] * 2 >= 2**31
    with pytest.raises(InvalidArgument, match="longer than 1"):
        kst.huge((1, 1))


def test_strides_that_no_tensor_has_are_refused():
    with pytest.raises(InvalidArgument):
        kst.layout((3, 4), (1,))
    with pytest.raises(InvalidArgument):
        kst.layout((3,), (-1,))
