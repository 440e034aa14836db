"""Autotuned in-place update: tuning runs it once a config, so the first call adds several times."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

import strategies as kst
from conformance.faults.fault import Fault
from conformance.op import Op
from kernels_triton.arguments import COMPUTE, check_tensors

_update = Op(
    reference=lambda x, y: x + y,
    inputs=dict(
        x=kst.tensors("rows", "cols", layouts=kst.CONTIGUOUS), y=kst.tensors("rows", "cols", layouts=kst.CONTIGUOUS)
    ),
    mutates="x",
    name="update",
)


@triton.jit
def _kernel(x_ptr, y_ptr, n, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + i, mask=i < n).to(COMPUTE) + tl.load(y_ptr + i, mask=i < n).to(COMPUTE)
    tl.store(x_ptr + i, total.to(x_ptr.dtype.element_ty), mask=i < n)


_CONFIGS = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})]
_wrong = triton.autotune(configs=_CONFIGS, key=["n"])(_kernel)
_right = triton.autotune(configs=_CONFIGS, key=["n"], restore_value=["x_ptr"])(_kernel)


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("update", x=x, y=y)
    n = x.numel()
    if n:
        tuned = _right if fixed else _wrong
        tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, COMPUTE=COMPUTE[x.dtype])
    return x


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=True)


fault = Fault(
    name="update_tuned_in_place",
    op=_update,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("configs",),
    klass="TUNE",
    line='_wrong = triton.autotune(configs=_CONFIGS, key=["n"])',
    source="triton-lang/triton#6547",
    promises={"layouts": kst.CONTIGUOUS},
)
