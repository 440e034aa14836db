"""The accuracy table, the benchmark of bounds and the page of GPU constants."""

from __future__ import annotations

import json

import numpy as np
import torch

from conformance import accuracy
from conformance.bench import gpu_constants, numerics, rivals


def test_the_portable_column_is_the_wider_of_both_runtimes() -> None:
    for row in accuracy.TABLE:
        assert row.ulp("portable") == max(row.ulp("interpret"), row.ulp("nvidia")) >= 0.5
        assert row.source
    assert len(accuracy.BY_NAME) == len(accuracy.TABLE)


def torch_kernel(op: str, inputs: list[torch.Tensor], fault: int) -> torch.Tensor:
    """Computes in float32 as a fused kernel does; every mistake shifts the result by a hundredth."""
    wide = [t if t.dtype is torch.float64 else t.float() for t in inputs]
    out = numerics.REFERENCES[op](*wide)
    return (out * 1.01 if fault else out).to(inputs[0].dtype)


def test_the_benchmark_counts_alarms_and_catches() -> None:
    report = numerics.report_of(numerics.measure(120, seed=3, launch=torch_kernel))
    assert report["correct_launches"] == 120
    assert report["false_alarms"]["bound"] == 0, report["first_alarm"]
    assert report["caught"]["bound"] >= 0.8 * report["differing"] > 0
    assert set(report["false_alarms"]) == set(report["caught"]) == set(numerics.ORACLES)
    assert all(0 <= ratio <= 1 for ratio in report["worst_ratio"].values())
    assert json.loads(json.dumps(report)) == report
    assert "assert_close" in numerics.table_of(report)


def test_the_same_seed_gives_the_same_benchmark() -> None:
    first, second = (numerics.report_of(numerics.measure(40, seed=5, launch=torch_kernel)) for _ in range(2))
    for report in (first, second):
        del report["median_oracle_cpu_seconds"]
    assert first == second


def test_rivals_agree_with_torch_on_what_close_means() -> None:
    x = torch.linspace(1, 2, 50)
    for scale, close in ((1 + 1e-7, True), (1 + 1e-4, False)):
        assert rivals.assert_close("add", x * scale, x, [x]) is close
        try:
            torch.testing.assert_close(x * scale, x)
            passed = True
        except AssertionError:
            passed = False
        assert passed is close


def test_flash_attentions_rule_takes_torchs_own_error_as_the_measure() -> None:
    exact = torch.tensor([1.0], dtype=torch.float64)
    own = torch.tensor([1.0 + 1e-6], dtype=torch.float64)
    assert rivals.flash_attention(torch.tensor([1.0 + 1.9e-6], dtype=torch.float64), own, exact)
    assert not rivals.flash_attention(torch.tensor([1.0 + 3e-6], dtype=torch.float64), own, exact)


def test_a_measurement_that_fails_is_a_row_and_not_a_crash() -> None:
    rows = [
        gpu_constants.Row("x / y", 1.5, 2.0, "ulp"),
        gpu_constants.Row("tl.exp", 4.0, 3.0, "ulp"),
        gpu_constants.Row("dots", None, None, "", "CompilationError: no such instruction"),
        gpu_constants.Row("mul flushes", 0.0, None, "yes/no"),
    ]
    assert [row.verdict for row in rows] == ["holds", "EXCEEDED", "failed", "fact"]
    page = gpu_constants.page_of(rows, "a GPU")
    assert page.count("\n|") == 6
    assert "no such instruction" in page


def test_ulps_are_counted_in_units_of_the_exact_value() -> None:
    exact = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    got = torch.tensor([1.0, np.nextafter(np.float32(2), np.float32(3)), 3.0])
    assert gpu_constants.worst_ulp(got, exact) == 1.0
