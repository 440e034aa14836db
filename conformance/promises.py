"""What a kernel guarantees beyond its op. Authors declare promises, never tolerances."""

from __future__ import annotations

import dataclasses
import typing
from typing import Literal

import torch
from hypothesis.errors import InvalidArgument


@dataclasses.dataclass(frozen=True)
class Promises:
    """The promises of one kernel; the defaults are what a careful author of a Triton or CUDA kernel keeps.

    Numerics (read by `conformance.balls`):
        compute: dtype of elementwise arithmetic; None is float32 for float32 and below, else the input's.
        accumulator: dtype of sums; None is the compute dtype.
        dot: operands of matrix products in float32: kept ("ieee"), rounded to TF32, or split in three TF32 products.
        order: summation order: "any" (one running sum, atomics, split-K), or "tree" (a block reduces as a tree), which
            has the tighter bound.
        casting: "late" rounds once, at the store; "llama" rounds to the input dtype before the weight is applied.
        overflow: what a store beyond the largest finite value gives: "inf", or "saturate" (fp8 on sm_90).
        nan: "propagate" as torch does, or "ignore" as `tl.max` does.
        all_masked: the value of a fully masked row: "nan" as torch has it, or "zero".
        profile: the accuracy table's column: "portable", "interpret" or "nvidia".
    Behaviour (read by the oracles):
        deterministic: equal calls give equal bits, in any program order.
        batch_invariant: a row alone gives the bits it has in a batch (only for ops with an `independent` axis).
        layout_invariant: a strided argument gives the bits of its contiguous copy; None asks for them where kernels
            are interpreted, and on a GPU only that both results are right.
        duplicate_writes: True allows several programs to write one element.
        layouts: names of the layouts the kernel accepts (None: every layout); others must be refused.
        dtypes: dtypes the kernel accepts (None: those of the op); others must be refused.
        limits: axis name to largest size; larger must be refused.
        offsets: "int64" where tensors may reach past 2**31 elements; "int32" where the caller keeps them shorter.
        refuses: what else is refused: "shapes" (axes that the op ties do not match), "dtypes" (mixed in one group).
    """

    compute: torch.dtype | None = None
    accumulator: torch.dtype | None = None
    dot: Literal["ieee", "tf32", "tf32x3"] = "ieee"
    order: Literal["tree", "any"] = "any"
    casting: Literal["late", "llama"] = "late"
    overflow: Literal["inf", "saturate"] = "inf"
    nan: Literal["propagate", "ignore"] = "propagate"
    all_masked: Literal["nan", "zero"] = "nan"
    profile: Literal["portable", "interpret", "nvidia"] = "portable"
    deterministic: bool = True
    batch_invariant: bool = True
    layout_invariant: bool | None = None
    duplicate_writes: bool = False
    layouts: tuple[str, ...] | None = None
    dtypes: tuple[torch.dtype, ...] | None = None
    limits: tuple[tuple[str, int], ...] = ()
    offsets: Literal["int64", "int32"] = "int64"
    refuses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for name, hint in hints.items():
            value = getattr(self, name)
            choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
            if choices and value not in choices:
                raise InvalidArgument(f"{name}={value!r} is no promise; give one of {', '.join(map(repr, choices))}")
            if hint is bool and not isinstance(value, bool):
                raise InvalidArgument(f"{name}={value!r} must be True or False")
            if name in ("compute", "accumulator") and not isinstance(value, torch.dtype | None):
                raise InvalidArgument(f"{name}={value!r} must be a torch.dtype, or None")
        for name in ("layouts", "dtypes", "refuses", "limits"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, tuple):
                given = tuple(value.items()) if isinstance(value, dict) else (value,)
                object.__setattr__(self, name, given if not isinstance(value, (list, set)) else tuple(value))
        for name in self.refuses:
            if name not in ("shapes", "dtypes"):
                raise InvalidArgument(f"refuses={name!r} is unknown; there are 'shapes' and 'dtypes'")
