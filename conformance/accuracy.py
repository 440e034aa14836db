"""The accuracy table: how far each elementary function may be from the exact value, in units in the last place.

One row a function and three columns: `interpret` (NumPy on the CPU, host C library), `nvidia` (what Triton and CUDA
lower to, flush-to-zero included) and `portable`, the default, which is the wider of both. `float64` holds for every
profile. Read it like the table in the OpenCL specification: a kernel that is further off is not conformant.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

Profile = Literal["portable", "interpret", "nvidia"]


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """The largest error of one function, in ulp of the exact result: a column a profile, and where it is documented."""

    function: str
    interpret: float
    nvidia: float
    float64: float
    source: str

    @property
    def portable(self) -> float:
        """The wider of both runtimes."""
        return max(self.interpret, self.nvidia)

    def ulp(self, profile: Profile) -> float:
        """Largest error of a float32 computation under `profile`."""
        return float(getattr(self, profile))


TABLE: tuple[Accuracy, ...] = (
    Accuracy("add", 0.5, 0.5, 0.5, "IEEE 754; PTX ISA add.rn.f32"),
    Accuracy("mul", 0.5, 0.5, 0.5, "IEEE 754; PTX ISA mul.rn.f32"),
    Accuracy("div", 0.5, 2.0, 0.5, "PTX ISA div.full.f32: 2 ulp over the full range; div.rn.f64"),
    Accuracy("sqrt", 0.5, 2.0, 0.5, "PTX ISA sqrt.approx.ftz.f32: relative 2**-23, so at most 2 ulp; sqrt.rn.f64"),
    Accuracy("rsqrt", 1.5, 2.2, 1.5, "PTX ISA rsqrt.approx.ftz.f32: relative 2**-22.9, at most 2.2 ulp; CUDA rsqrtf 2 ulp"),
    Accuracy("exp", 2.6, 3.0, 2.0, "NumPy SIMD exp 2.52 ulp; PTX ISA ex2.approx.f32 2 ulp, and its product by log2(e)"),
    Accuracy("exp2", 2.6, 3.0, 2.0, "PTX ISA ex2.approx.ftz.f32: 2 ulp"),
    Accuracy("expm1", 3.0, 3.0, 2.0, "CUDA expm1f 1 ulp; OpenCL 3 ulp"),
    Accuracy("log", 3.9, 3.0, 2.0, "NumPy SIMD log 3.83 ulp; PTX ISA lg2.approx.f32, absolute 2**-22 on (0.5, 2)"),
    Accuracy("log1p", 3.0, 3.0, 2.0, "CUDA log1pf 1 ulp; OpenCL 2 ulp"),
    Accuracy("sin", 2.0, 4.0, 2.0, "CUDA sinf 2 ulp; OpenCL 4 ulp"),
    Accuracy("cos", 2.0, 4.0, 2.0, "CUDA cosf 2 ulp; OpenCL 4 ulp"),
    Accuracy("tan", 4.0, 5.0, 3.0, "CUDA tanf 4 ulp; OpenCL 5 ulp"),
    Accuracy("tanh", 5.0, 5.0, 3.0, "CUDA tanhf 2 ulp; OpenCL 5 ulp"),
    Accuracy("erf", 4.0, 16.0, 3.0, "CUDA erff 2 ulp; OpenCL 16 ulp"),
    Accuracy("pow", 4.0, 16.0, 4.0, "CUDA powf 4 ulp; OpenCL 16 ulp"),
    Accuracy("atan", 5.0, 5.0, 3.0, "OpenCL 5 ulp"),
)

BY_NAME: dict[str, Accuracy] = {row.function: row for row in TABLE}

# absolute error of the logarithm where its argument lies in (0.5, 2): 2**-22 of log2, times ln 2 (PTX ISA, lg2.approx)
LOG_NEAR_ONE = 2.0**-22 * 0.6931471805599453
# relative error of one tensor-core accumulation: products are exact, the aligned sum is truncated (Fasi, Higham,
# Mikaitis and Pranesh, PeerJ CS 330)
TENSOR_CORE_UNIT = 2.0**-22
# Hopper accumulates fp8 products in 14 bits unless the kernel promotes partial sums (DeepSeek-V3 report, section 3.3.2)
FP8_TENSOR_CORE_UNIT = 2.0**-13
