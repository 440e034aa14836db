"""Autotuned addition that takes one block size for granted: its other config leaves gaps."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import vector_add
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, y_ptr, out_ptr, n, COMPUTE: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(COMPUTE)
    y = tl.load(y_ptr + i, mask=i < n).to(COMPUTE)
    tl.store(out_ptr + i, (x + y).to(out_ptr.dtype.element_ty), mask=i < n)


def _tuned(steps: tuple[int, int]) -> Any:
    configs = [triton.Config({"BLOCK": block, "STEP": step}) for block, step in zip((64, 32), steps, strict=True)]
    return triton.autotune(configs=configs, key=["n"])(_kernel)


_wrong = _tuned((64, 64))
_right = _tuned((64, 32))


def _launch(x: torch.Tensor, y: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("add", x=x, y=y)
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    n = out.numel()
    if n:
        tuned: Any = _right if fixed else _wrong
        tuned[lambda meta: (triton.cdiv(n, meta["STEP"]),)](x, y, out, n, COMPUTE=COMPUTE[x.dtype])
    return out


def _faulty(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=False)


def _fixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return _launch(x, y, fixed=True)


fault = Fault(
    name="add_one_config_wrong",
    op=vector_add,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("configs", "written"),
    klass="CONFIG",
    line="_tuned((64, 64))",
    source="state-spaces/mamba#537",
)
