from __future__ import annotations

import pytest
import torch

import strategies as kst
from conformance import Op, check
from conformance.launch import Kernel

row_sum = Op(
    reference=lambda x: x.sum(-1),
    inputs=dict(x=kst.tensors("rows", "cols", dtypes=(torch.float32,))),
    independent="rows",
    name="row_sum",
)


def by_layout(x: torch.Tensor) -> torch.Tensor:
    """Sums a contiguous tensor from the front and any other from the back, as kernels compiled for either may."""
    return _from_front(x if x.is_contiguous() else x.flip(-1))


def by_batch(x: torch.Tensor) -> torch.Tensor:
    """Sums a single row from the front and the rows of a batch from the back."""
    return _from_front(x if x.shape[0] == 1 else x.flip(-1))


def _from_front(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(x.shape[0])
    for column in x.unbind(-1):
        total = total + column
    return total


@pytest.mark.parametrize("layout_invariant", [True, False])
@pytest.mark.parametrize("kernel", [by_layout, by_batch])
def test_bits_that_depend_on_the_layout_are_no_matter_of_the_batch(kernel: Kernel, layout_invariant: bool) -> None:
    report = check(kernel, row_sum, oracles=["batch_invariance"], layout_invariant=layout_invariant)
    assert report.examples
    assert report.ok == (kernel is by_layout and not layout_invariant)
