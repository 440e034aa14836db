"""A kernel that computes nothing fails for every op."""

from __future__ import annotations

import pytest

from conformance import check, ops
from conformance.faults import null_kernels

NULLS = [
    pytest.param(getattr(ops, name), kernel, id=f"{name}-{null}")
    for name in ops.__all__
    for null, kernel in null_kernels(getattr(ops, name)).items()
]


@pytest.mark.parametrize(("op", "kernel"), NULLS)
def test_a_kernel_that_computes_nothing_fails(op, kernel):
    report = check(kernel, op, examples=100, seed=0, stop_at_first=True)

    assert not report.ok


def test_each_op_has_six_null_kernels():
    for name in ops.__all__:
        assert len(null_kernels(getattr(ops, name))) == 6
