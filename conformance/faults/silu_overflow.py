"""SwiGLU whose sigmoid is exp(x) / (1 + exp(x)): inf / inf from 89 on."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from conformance.faults.fault import Fault
from conformance.ops import silu_and_mul
from kernels_triton.arguments import COMPUTE, check_tensors


@triton.jit
def _kernel(x_ptr, out_ptr, n, half, COMPUTE: tl.constexpr, FIXED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = i + i // half * half
    gate = tl.load(x_ptr + place, mask=i < n, other=0.0).to(COMPUTE)
    value = tl.load(x_ptr + place + half, mask=i < n, other=0.0).to(COMPUTE)
    sigmoid = 1.0 / (1.0 + tl.exp(-gate)) if FIXED else tl.exp(gate) / (1.0 + tl.exp(gate))
    tl.store(out_ptr + i, (gate * sigmoid * value).to(out_ptr.dtype.element_ty), mask=i < n)


def _launch(x: torch.Tensor, *, fixed: bool) -> torch.Tensor:
    check_tensors("silu_and_mul", x=x)
    rows, width = x.shape
    out = torch.empty((rows, width // 2), dtype=x.dtype, device=x.device)
    n = out.numel()
    if n:
        _kernel[(triton.cdiv(n, 32),)](
            x.contiguous(), out, n, width // 2, COMPUTE=COMPUTE[x.dtype], FIXED=fixed, BLOCK=32
        )
    return out


def _faulty(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=False)


def _fixed(x: torch.Tensor) -> torch.Tensor:
    return _launch(x, fixed=True)


fault = Fault(
    name="silu_overflow",
    op=silu_and_mul,
    kernel=_faulty,
    fixed=_fixed,
    oracles=("accuracy", "special_values"),
    klass="STAB",
    line="tl.exp(gate) / (1.0 + tl.exp(gate))",
    source="antirez/ds4#498",
)
