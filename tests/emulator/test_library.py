from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.emulator import Program
from conformance.emulator.library import variables
from conformance.events import Kind

TWO = """
extern "C" __global__ void one(int* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void two(int* x) { __shared__ int s[32]; s[threadIdx.x] = 2; x[threadIdx.x] = s[threadIdx.x]; }
"""
COUNTER = """
__device__ int counter = 5;
extern "C" __global__ void up(int* x) { x[0] = ++counter; }
extern "C" __global__ void down(int* x) { x[0] = --counter; }
"""
STATIC = """
__device__ int next() { static int calls = 10; return calls++; }
extern "C" __global__ void count(int* x) {
  __shared__ int s[32];
  s[threadIdx.x] = 1;
  if (threadIdx.x == 0) x[0] = next();
}
"""


def test_kernels_of_a_text_are_compiled_one_by_one() -> None:
    program = Program(TWO, checked=True)
    assert program.library("one").file != program.library("two").file
    assert [v.name for v in program.library("one").variables] == []
    assert [(v.name, v.size, v.shared) for v in program.library("two").variables] == [("s", 128, True)]


def test_kernels_that_share_a_variable_are_compiled_together(run_cuda: Callable[..., Any]) -> None:
    program = Program(COUNTER, checked=True)
    assert program.library("up") is program.library("down")
    x = torch.zeros(1, dtype=torch.int32)
    found = []
    for name in ("up", "up", "down"):
        assert run_cuda(COUNTER, (x,), ("out",), name=name, block=1).events == []
        found.append(int(x))
    assert found == [6, 7, 6]


def test_static_of_a_device_function_outlives_the_block(run_cuda: Callable[..., Any]) -> None:
    x = torch.zeros(1, dtype=torch.int32)
    for expected in (10, 11):
        assert run_cuda(STATIC, (x,), ("out",), block=32).events == []
        assert int(x) == expected
    seen = run_cuda(STATIC, (x,), ("inout",), block=32, grid=2)  # and is a race between blocks
    assert Kind.WRITE_CONFLICT in seen.kinds or Kind.DATA_RACE in seen.kinds
    assert "device calls" in str(seen)


def test_unknown_kernel_is_named_with_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"has no kernel 'three'.*one, two"):
        Program(TWO, checked=True).library("three")


def test_variables_are_told_apart_by_their_red_zones() -> None:
    listed = """0000000000004000 0000000000000100 b _ZZ1fE14emu_red_zone_0
0000000000004100 0000000000000080 b _ZZ1fE1s
0000000000004180 0000000000000004 b _ZZ1gvE5calls
0000000000004188 0000000000000008 b _ZGVZ1fE1s
0000000000004190 0000000000000004 D counter
0000000000004194 0000000000000001 b completed.0
0000000000001000 0000000000000010 T f
"""
    found = {v.name: (v.offset, v.size, v.shared, v.guard) for v in variables(listed) if not v.guard}
    assert found == {
        "s": (0x4100, 0x80, True, False),
        "calls": (0x4180, 4, False, False),
        "counter": (0x4190, 4, False, False),
    }
    assert [v.offset for v in variables(listed) if v.guard] == [0x4188]
