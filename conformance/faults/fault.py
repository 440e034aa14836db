"""A kernel that is wrong on purpose, and who must object to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal

from conformance.op import Op


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault of a kernel.

    `oracles` are the ids of the oracles of which at least one must object to `kernel`; none may object to `fixed`, the
    same kernel without the fault (None where there is none). `klass` is the class of fault: PAD padded lanes in a
    reduction, OOBW and OOBR writes and reads outside, STR strides ignored, LAY another tensor's stride or layout, I32
    32-bit offsets, ACC accumulation, STAB overflow and cancellation, NAN, ROW fully masked rows, SIZE sizes, ALIAS,
    INIT memory never written, TUNE autotuning, CONFIG one config, RACE, DUPLICATES, DTYPE rounding and casts, IDX
    meaning of indices, DET determinism, BATCH batch variance, ALIGN alignment, META shape and dtype, LOGIC.

    `runtime` is where the fault shows; `line` is a text on the broken line of the file; `source` is a public report of
    a fault of this kind, or "" where it was made up; `promises` are what both kernels promise beyond the op.
    """

    name: str
    op: Op
    kernel: Callable[..., Any]
    fixed: Callable[..., Any] | None
    oracles: tuple[str, ...]
    klass: str
    line: str
    source: str = ""
    runtime: Literal["any", "gpu", "interpret"] = "any"
    promises: Mapping[str, Any] = dataclasses.field(default_factory=dict)
