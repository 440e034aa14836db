"""Launches that are made ahead, together: the bits of each by itself, and nothing kept from the oracles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import kernels_triton
import strategies as kst
from conformance import Op, case, lanes, ops
from conformance.flight import Flight
from conformance.trial import Trial

KERNELS = ("vector_add", "softmax", "rms_norm", "matmul")


@triton.jit
def _scale_kernel(x_ptr, out_ptr, n, past, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lane, mask=lane < n + past, other=0.0)
    tl.store(out_ptr + lane, x * 2, mask=lane < n)


def _scale(x: torch.Tensor, *, past: int = 0, out: torch.Tensor | None = None) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x) if out is None else out
    if x.numel():
        _scale_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), past, BLOCK=64)
    return out


double = Op(lambda x: x * 2, inputs=dict(x=kst.tensors("n")), name="double")


def _calls(trial: Trial, count: int, lane: str = "launch", dtype: torch.dtype = torch.float32) -> list[Any]:
    found: list[Any] = []
    drawn = lanes.LANES[lane].draw(trial, dtype)
    from conformance.explore import explore

    explore(drawn, lambda call: found.append(call) or [], examples=count, seed=3)
    return found


def _outcome(kernel: Callable[..., Any], examples: int = 100) -> tuple[Trial, case.Outcome]:
    trial = Trial(double, kernel)
    return trial, case.run(trial, lanes.LANES["launch"], torch.float32, examples=examples, seed=0)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    # an axis of one element counts as contiguous with any stride, but only a copy can be seen as bytes
    return tensor.clone(memory_format=torch.contiguous_format).view(torch.uint8)


@pytest.mark.parametrize("lane", ["launch", "special_values"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_launches_together_give_the_bits_of_each_by_itself(name: str, dtype: torch.dtype, lane: str) -> None:
    trial = Trial(getattr(ops, name), getattr(kernels_triton, name))
    calls = _calls(trial, 60, lane, dtype)
    Flight(trial)(calls)
    assert trial.flies
    assert len(trial.ahead) > 50
    flown = list(trial.ahead.values())
    trial.ahead.clear()
    for launch in flown:
        alone = trial.launch(launch.call)
        for one, two in zip(launch.outputs, alone.outputs, strict=True):
            assert one.stride() == two.stride()
            assert _bytes(one).equal(_bytes(two))
        assert launch.geometry == alone.geometry
        assert lanes.objections(trial, launch, lanes.LAUNCH if lane == "launch" else lanes.MEMORY) == []


def test_a_case_counts_what_it_counts_without_flights(monkeypatch: pytest.MonkeyPatch) -> None:
    def results() -> list[Any]:
        found = []
        for name in KERNELS:
            trial = Trial(getattr(ops, name), getattr(kernels_triton, name))
            result = case.run(trial, lanes.LANES["launch"], torch.float32, examples=60, seed=1).result
            found.append((result.examples, result.coverage, result.points, result.worst_ratio, result.bias))
        return found

    together = results()
    monkeypatch.setattr(case, "Flight", lambda _: None)
    assert results() == together


def test_a_read_past_the_end_of_some_calls_is_found_as_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        return _scale(x, past=3 if x.numel() % 7 == 3 else 0)

    trial, flown = _outcome(kernel)
    assert trial.flies is False
    monkeypatch.setattr(case, "Flight", lambda _: None)
    _, alone = _outcome(kernel)
    assert [f.summary for f in flown.findings] == [f.summary for f in alone.findings]
    assert [f.oracle for f in flown.findings] == ["bounds"]
    assert flown.result.examples == alone.result.examples


def test_a_read_into_the_tensor_of_another_call_is_found() -> None:
    # 70,000 elements on lies another storage of the same block of memory, or none
    def kernel(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        if x.numel():
            _scale_kernel[(1 + 70_000 // 64,)](x, out, x.numel(), 70_000, BLOCK=64)
        return out

    _, outcome = _outcome(kernel, 20)
    assert "bounds" in {f.oracle for f in outcome.findings}


@triton.jit
def _one_writer_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        x = tl.load(x_ptr + start + lane, mask=start + lane < n, other=0.0)
        tl.store(out_ptr + start + lane, x * 2, mask=start + lane < n)


def test_two_programs_that_write_one_element_are_found() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        if x.numel():
            _one_writer_kernel[(2 if x.numel() > 100 else 1,)](x, out, x.numel(), BLOCK=64)
        return out

    _, outcome = _outcome(kernel)
    assert [f.oracle for f in outcome.findings] == ["races"]


def test_an_element_that_nobody_writes_is_found() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        if x.numel():
            short = x.numel() - (1 if x.numel() > 40 else 0)
            _scale_kernel[(triton.cdiv(short, 64),)](x, out, short, 0, BLOCK=64)
        return out

    _, outcome = _outcome(kernel)
    assert "written" in {f.oracle for f in outcome.findings}


def _doubled_by_torch(x: torch.Tensor) -> torch.Tensor:
    return _scale(x).mul(1.0)


def _twice(x: torch.Tensor) -> torch.Tensor:
    _scale(x)
    return _scale(x)


def _filled_again(x: torch.Tensor) -> torch.Tensor:
    out = _scale(x)
    out.mul_(1.0)
    return out


def _asked_for(x: torch.Tensor) -> torch.Tensor:
    out = _scale(x)
    if bool(out.isnan().any()):
        raise RuntimeError("the kernel gave NaN")
    return out


@pytest.mark.parametrize("kernel", [_doubled_by_torch, _twice, _filled_again, _asked_for])
def test_a_launcher_that_uses_the_result_is_not_made_to_wait(kernel: Callable[..., Any]) -> None:
    trial, outcome = _outcome(kernel)
    assert trial.flies is False
    assert outcome.findings == []


def test_a_wrong_value_that_torch_makes_of_the_result_is_found() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        out = _scale(x)
        if x.numel() > 200:
            out.mul_(1.5)
        return out

    trial, outcome = _outcome(kernel)
    assert trial.flies is False
    assert [f.oracle for f in outcome.findings] == ["accuracy"]


_kept: dict[tuple[int, ...], torch.Tensor] = {}


def test_a_launcher_that_keeps_its_output_is_judged_call_by_call() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        out = _kept.get(tuple(x.shape))
        if out is None:
            out = _kept[tuple(x.shape)] = torch.empty_like(x.contiguous())
        return _scale(x, out=out)

    _kept.clear()
    _, outcome = _outcome(kernel)
    assert outcome.findings == []


def test_a_launcher_that_returns_a_view_flies() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        return _scale(x.reshape(-1)).view(x.shape)

    trial, outcome = _outcome(kernel)
    assert trial.flies
    assert outcome.findings == []


def test_what_a_launcher_raises_is_found() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        if x.numel() > 300:
            raise RuntimeError("too long")
        return _scale(x)

    _, outcome = _outcome(kernel)
    assert [f.oracle for f in outcome.findings] == ["crash"]


def test_launches_ahead_do_not_load_a_compiler() -> None:
    lines = [
        "import sys, conformance, conformance.ops",
        "from kernels_triton.vector_add import vector_add",
        "conformance.check(vector_add, conformance.ops.vector_add, examples=3, oracles=['launch'])",
        "sys.exit('torch._dynamo' in sys.modules)",
    ]

    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    assert subprocess.run([sys.executable, "-c", "; ".join(lines)], check=False, env=environment).returncode == 0


def test_a_launch_of_no_program_tells_nothing_of_the_others() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        _scale_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), 0, BLOCK=64)
        return out

    trial = Trial(double, kernel)
    calls = sorted(_calls(trial, 60), key=lambda call: call.sizes["n"])
    assert calls[0].sizes["n"] == 0
    Flight(trial)(calls)
    assert trial.flies
