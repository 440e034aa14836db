"""What torch's reductions in a launcher do to the bits is no fault of the kernel; what the kernel does is one."""

import pytest
import torch

import strategies as kst
from conformance import Op, check
from conformance.ops import row_sum, softmax

norm = Op(
    lambda x: x / x.square().mean(-1, keepdim=True).sqrt(),
    dict(x=kst.tensors("rows", "cols", dtypes=(torch.float32, torch.float64), domain=kst.positive())),
    axes=dict(cols=kst.sizes(min=1)),
    independent="rows",
    name="norm",
)


def softmax_by_torch(x):
    return torch.exp(x - torch.logsumexp(x, dim=-1, keepdim=True)) if x.numel() else torch.empty_like(x)


def norm_by_torch(x):
    return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True) * x.shape[-1] ** 0.5


def sum_by_product(x):
    return (x @ torch.ones(x.shape[-1], 1, dtype=x.dtype)).squeeze(-1)


@pytest.mark.parametrize("lane", ["layouts", "batch_invariance"])
@pytest.mark.parametrize(
    ("kernel", "op", "dtype"),
    [
        (softmax_by_torch, softmax, torch.float32),
        (norm_by_torch, norm, torch.float64),
        (sum_by_product, row_sum, torch.float32),
    ],
)
def test_the_order_of_a_reduction_of_torch_is_no_fault_of_the_kernel(kernel, op, dtype, lane):
    report = check(kernel, op, oracles=[lane], dtypes=[dtype], examples=150)

    assert report.ok, [finding.summary for finding in report.findings]


def column_by_column(x, columns):
    total = torch.zeros(x.shape[0], dtype=x.dtype)
    for column in columns:
        total = total + x[:, column]
    return total


def order_of_strides(x):
    first = x.sum(-1) * 0
    columns = range(x.shape[1])
    return first + column_by_column(x, columns if x.is_contiguous() else reversed(columns))


def order_of_rows(x):
    first = x.sum(-1) * 0
    columns = range(x.shape[1])
    return first + column_by_column(x, columns if x.shape[0] > 1 else reversed(columns))


@pytest.mark.parametrize(("kernel", "lane"), [(order_of_strides, "layouts"), (order_of_rows, "batch_invariance")])
def test_a_kernel_whose_own_order_depends_on_the_call_is_wrong_beside_a_reduction_of_torch(kernel, lane):
    report = check(kernel, row_sum, oracles=[lane], dtypes=[torch.float32], examples=100)

    assert [finding.oracle for finding in report.findings] == [lane]
