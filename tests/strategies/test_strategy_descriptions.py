import pytest
import torch
from hypothesis.errors import InvalidArgument
from strategy_verbs import minimal

import strategies as kst


def described(strides, offset=0, shape=(2, 3), dtype=torch.float32):
    return kst.TensorDescription(shape, dtype, kst.layout(shape, strides, offset), kst.Values("ramp"))


def test_a_description_reads_as_one_short_line():
    assert repr(kst.TensorDescription((2, 3), torch.float16, values=kst.Values("ones"))) == "float16[2, 3] ones"
    assert repr(described((5, 1), 1)) == "float32[2, 3] ramp offset+padded(strides=(5, 1), offset=1)"


def test_descriptions_are_hashable_and_equal_by_content():
    assert len({described((3, 1)), described((3, 1)), described((5, 1))}) == 2


def test_a_tensor_is_placed_in_a_given_storage_and_nothing_else_is_written():
    storage = torch.full((64,), 7.0)
    view = described((5, 1), 1).place(storage, 20)

    assert view.data_ptr() == storage.data_ptr() + 21 * 4
    assert view.stride() == (5, 1)
    assert int((storage == 7.0).sum()) == 64 - 6


def test_an_expanded_tensor_is_placed_once_for_each_element():
    view = described((0, 1)).with_layout(kst.layout((2, 3), (0, 1))).place(torch.zeros(3))

    assert torch.equal(view[0], view[1])


def test_a_storage_that_does_not_fit_is_refused():
    with pytest.raises(InvalidArgument, match="at least 8"):
        described((5, 1)).place(torch.zeros(7))
    with pytest.raises(InvalidArgument, match="float32"):
        described((5, 1)).place(torch.zeros(8, dtype=torch.float16))


def test_gaps_hold_nan_or_the_smallest_integer():
    whole = described((5, 1)).build().as_strided((8,), (1,), 0)
    numbers = described((5, 1), dtype=torch.int16).build().as_strided((8,), (1,), 0)

    assert whole.isnan().tolist() == [False] * 3 + [True] * 2 + [False] * 3
    assert numbers[3:5].tolist() == [-(2**15)] * 2


def test_the_contiguous_twin_has_the_same_values():
    expanded = kst.TensorDescription((2, 3), torch.float32, values=kst.Values("random", "normal", 5)).with_layout(
        kst.layout((2, 3), (0, 1))
    )

    assert torch.equal(expanded.build(), expanded.contiguous().build())
    assert expanded.contiguous().layout.is_contiguous


def test_a_huge_layout_is_built_without_writing_the_gaps():
    huge = described((3, 1)).with_layout(kst.huge((2, 3))).build()

    assert torch.equal(huge, described((3, 1)).build())


def test_source_needs_torch_only_and_is_a_literal_when_small():
    small = described((5, 1), 1).source()

    assert "torch.tensor([[" in small
    assert "b85decode" in kst.TensorDescription((20, 20), torch.bfloat16, values=kst.Values("ramp")).source()
    assert (
        kst.TensorDescription((99, 9), torch.int8).source() == "torch.full((99, 9), 0, dtype=torch.int8, device='cpu')"
    )


def test_the_smallest_tensor_is_one_zero():
    assert repr(minimal(kst.tensors("a", "b"))) == "float32[1, 1] zeros"
    assert repr(minimal(kst.tensors())) == "float32[] zeros"
