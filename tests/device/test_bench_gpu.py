from __future__ import annotations

import pytest
import torch

from conformance.bench import gpu
from conformance.device import isolation, policy


@pytest.fixture(autouse=True)
def _policy():
    before = policy.current()
    yield
    policy.select(before)
    isolation.process().close()


def test_a_rate_of_several_workers_counts_the_examples_of_all():
    rate, compiled = gpu.parallel_rate(2, examples=3)
    assert rate.examples == 2 * 3 * len(gpu.DTYPES) * 4
    assert rate.per_second > 0
    assert compiled == 0


def test_a_faulty_kernel_is_not_measured():
    from conformance.faults import tutorial_softmax

    fault = tutorial_softmax.fault
    policy.select(policy.Policy(isolate="never"))
    with pytest.raises(RuntimeError, match="objected to"):
        gpu.run([(gpu.Trial(fault.op, fault.kernel), torch.float32)], examples=60)


def test_without_a_device_there_is_nothing_to_measure(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(RuntimeError, match="CUDA device"):
        gpu.main()
