"""Measures on a GPU the constants that the accuracy table takes from documents, and writes docs/gpu-constants.md.

Each measurement is a function of its own: one that fails becomes a row with its reason, and the rest go on. Inputs are
float32 and reference values float64, both on the device, so a run takes a minute or two, most of it compiling.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl

from conformance.accuracy import BY_NAME, FP8_TENSOR_CORE_UNIT, LOG_NEAR_ONE, TENSOR_CORE_UNIT
from conformance.balls.formats import TF32_OPERAND, TF32X3_PRODUCT

COUNT = 1 << 22
BLOCK = 1024
# rows, columns and depth of a tile: the least that runs on warp-group instructions
TILE = 64
DEPTH = 4096


@dataclasses.dataclass(frozen=True)
class Row:
    """One constant: what was measured, what the table allows, and in which unit."""

    name: str
    measured: float | None
    allowed: float | None
    unit: str
    note: str = ""

    @property
    def verdict(self) -> str:
        """`holds`, `EXCEEDED`, `fact` where there is nothing to compare, or `failed`."""
        if self.measured is None:
            return "failed"
        if self.allowed is None:
            return "fact"
        return "holds" if self.measured <= self.allowed else "EXCEEDED"


@triton.jit
def unary_kernel(x_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    """One function of each element, chosen by `OP`."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1.0)
    y = x
    if OP == "exp":
        y = tl.exp(x)
    elif OP == "exp2":
        y = tl.exp2(x)
    elif OP == "log":
        y = tl.log(x)
    elif OP == "log2":
        y = tl.log2(x)
    elif OP == "sqrt":
        y = tl.sqrt(x)
    elif OP == "sqrt_rn":
        y = tl.sqrt_rn(x)
    elif OP == "rsqrt":
        y = tl.rsqrt(x)
    elif OP == "sin":
        y = tl.sin(x)
    elif OP == "cos":
        y = tl.cos(x)
    elif OP == "erf":
        y = tl.erf(x)
    elif OP == "one_over_sqrt":
        y = 1.0 / tl.sqrt(x)
    tl.store(out_ptr + offsets, y, mask=mask)


@triton.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    """One operation on each pair of elements, chosen by `OP`."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=1.0)
    z = x
    if OP == "div":
        z = x / y
    elif OP == "div_rn":
        z = tl.div_rn(x, y)
    elif OP == "add":
        z = x + y
    elif OP == "mul":
        z = x * y
    elif OP == "max":
        z = tl.maximum(x, y)
    tl.store(out_ptr + offsets, z, mask=mask)


@triton.jit
def dot_kernel(a_ptr, b_ptr, out_ptr, k, PRECISION: tl.constexpr, TILE: tl.constexpr):
    """One tile of a matrix product of depth `k`, b stored with its depth last."""
    i = tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, TILE):
        a = tl.load(a_ptr + i[:, None] * k + start + i[None, :])
        b = tl.load(b_ptr + i[None, :] * k + start + i[:, None])
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(out_ptr + i[:, None] * TILE + i[None, :], total)


@triton.jit
def cast_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Each element in the dtype of the output."""
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask).to(out_ptr.dtype.element_ty), mask=mask)


def unary(op: str, x: torch.Tensor) -> torch.Tensor:
    """`op` of every element, by Triton."""
    out = torch.empty_like(x)
    unary_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, out, x.numel(), OP=op, BLOCK=BLOCK)
    return out


def binary(op: str, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """`op` of every pair, by Triton."""
    out = torch.empty_like(x)
    binary_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, out, x.numel(), OP=op, BLOCK=BLOCK)
    return out


def dot(a: torch.Tensor, b: torch.Tensor, precision: str) -> torch.Tensor:
    """a @ b.T of one tile, by Triton."""
    out = torch.empty(TILE, TILE, device=a.device)
    dot_kernel[(1,)](a, b, out, a.shape[1], PRECISION=precision, TILE=TILE, num_warps=4)
    return out


def worst_ulp(got: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error in units in the last place of the exact value (normal float32 results only)."""
    exact = exact.double()
    normal = (exact.abs() >= 2.0**-126) & (exact.abs() < 3.0e38) & torch.isfinite(got)
    unit = torch.exp2(torch.floor(torch.log2(exact.abs().clamp_min(2.0**-126))) - 23)
    error = (got.double() - exact).abs() / unit
    return float(torch.where(normal, error, torch.zeros_like(error)).max())


def spread(low: float, high: float, sign: bool = False) -> torch.Tensor:
    """Log-uniform float32 values with exponents from `low` to `high`."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    out = torch.exp2(torch.rand(COUNT, device="cuda", generator=generator, dtype=torch.float64) * (high - low) + low)
    if sign:
        out *= torch.randint(0, 2, (COUNT,), device="cuda", generator=generator) * 2 - 1
    return out.float()


def exponentials() -> list[Row]:
    """exp and exp2: the instruction's own error, after the product by log2(e) whose error the bound knows."""
    x = spread(-10, 6.4, sign=True)
    product = (x * torch.tensor(math.log2(math.e), device="cuda")).double()
    got = unary("exp", x)
    zero = unary("exp", torch.tensor([0.0, -0.0, -math.inf], device="cuda"))
    return [
        Row("tl.exp, given the product", worst_ulp(got, torch.exp2(product)), BY_NAME["exp"].nvidia, "ulp"),
        Row("tl.exp, against exp(x)", worst_ulp(got, torch.exp(x.double())), None, "ulp", "|x| up to 84"),
        Row("tl.exp2", worst_ulp(unary("exp2", x), torch.exp2(x.double())), BY_NAME["exp2"].nvidia, "ulp"),
        Row("tl.exp(0) is 1, tl.exp(-inf) is 0", float(zero.tolist() != [1.0, 1.0, 0.0]), 0.0, "count"),
    ]


def logarithms() -> list[Row]:
    """log and log2: relative away from 1, absolute near it."""
    far = torch.cat([spread(-126, -1), spread(1, 127)])
    near = spread(-1, 1)
    error = (unary("log", near).double() - torch.log(near.double())).abs().max()
    return [
        Row(
            "tl.log outside (0.5, 2)",
            worst_ulp(unary("log", far), torch.log(far.double())),
            BY_NAME["log"].nvidia,
            "ulp",
        ),
        Row(
            "tl.log2 outside (0.5, 2)",
            worst_ulp(unary("log2", far), torch.log2(far.double())),
            BY_NAME["log"].nvidia,
            "ulp",
        ),
        Row("tl.log on (0.5, 2)", float(error), LOG_NEAR_ONE + 2.0**-23, "absolute"),
    ]


def roots_and_quotients() -> list[Row]:
    """div, sqrt, rsqrt and their correctly rounded forms."""
    x, y = spread(-60, 60), spread(-60, 60)[torch.randperm(COUNT, device="cuda")]
    wide, quotient = x.double(), x.double() / y.double()
    return [
        Row("x / y", worst_ulp(binary("div", x, y), quotient), BY_NAME["div"].nvidia, "ulp"),
        Row("x / 4", worst_ulp(binary("div", x, torch.full_like(x, 4.0)), wide / 4), 0.0, "ulp", "assumed exact"),
        Row("tl.div_rn", worst_ulp(binary("div_rn", x, y), quotient), 0.5, "ulp"),
        Row("tl.sqrt", worst_ulp(unary("sqrt", x), torch.sqrt(wide)), BY_NAME["sqrt"].nvidia, "ulp"),
        Row("tl.sqrt_rn", worst_ulp(unary("sqrt_rn", x), torch.sqrt(wide)), 0.5, "ulp"),
        Row("tl.rsqrt", worst_ulp(unary("rsqrt", x), torch.rsqrt(wide)), BY_NAME["rsqrt"].nvidia, "ulp"),
        Row("1 / tl.sqrt(x)", worst_ulp(unary("one_over_sqrt", x), torch.rsqrt(wide)), None, "ulp"),
    ]


def transcendentals() -> list[Row]:
    """sin, cos and erf from the device library, and tanh and sigmoid of torch."""
    x = spread(-10, 6, sign=True)
    small = spread(-10, 2, sign=True)
    return [
        Row("tl.sin", worst_ulp(unary("sin", x), torch.sin(x.double())), BY_NAME["sin"].nvidia, "ulp"),
        Row("tl.cos", worst_ulp(unary("cos", x), torch.cos(x.double())), BY_NAME["cos"].nvidia, "ulp"),
        Row("tl.erf", worst_ulp(unary("erf", small), torch.erf(small.double())), BY_NAME["erf"].nvidia, "ulp"),
        Row("torch.tanh", worst_ulp(torch.tanh(small), torch.tanh(small.double())), BY_NAME["tanh"].nvidia, "ulp"),
        Row("torch.exp", worst_ulp(torch.exp(x), torch.exp(x.double())), BY_NAME["exp"].nvidia, "ulp"),
    ]


def flushing() -> list[Row]:
    """Which operations flush subnormals: 1 means flushed; the bound allows it for all but add and mul."""
    tiny = torch.full((BLOCK,), 2.0**-130, device="cuda")
    half, zero = torch.full_like(tiny, 0.5), torch.zeros_like(tiny)

    def gone(out: torch.Tensor) -> float:
        return float(bool((out == 0).all()))

    return [
        Row("add flushes subnormals", gone(binary("add", tiny, zero)), 0.0, "yes/no"),
        Row("mul flushes subnormals", gone(binary("mul", tiny, half)), 0.0, "yes/no"),
        Row("div flushes subnormals", gone(binary("div", tiny, half)), None, "yes/no"),
        Row("exp flushes subnormal results", gone(unary("exp", torch.full_like(tiny, -90.0))), None, "yes/no"),
        Row("exp2 flushes subnormal results", gone(unary("exp2", torch.full_like(tiny, -130.0))), None, "yes/no"),
        Row("sqrt flushes subnormal operands", gone(unary("sqrt", tiny)), None, "yes/no"),
    ]


def _operands(dtype: torch.dtype, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator(device="cuda").manual_seed(1)
    shape = (TILE, DEPTH)
    a = torch.rand(shape, device="cuda", generator=generator) + 0.5
    b = torch.rand(shape, device="cuda", generator=generator) + 0.5
    if kind == "mixed":
        a, b = (t * (torch.randint(0, 2, shape, device="cuda", generator=generator) * 2 - 1) for t in (a, b))
    if kind == "one large":
        a[:, 1:] *= 2.0**-9
        b[:, 1:] *= 2.0**-9
        a[:, 0] = b[:, 0] = 1.0
    return a.to(dtype), b.to(dtype)


def _accumulation(name: str, dtype: torch.dtype, precision: str, unit: float, product: float) -> list[Row]:
    """Error over what the bound allows (K units of sum |a||b|), for positive, mixed and one large product."""
    rows = []
    for kind in ("positive", "mixed", "one large"):
        a, b = _operands(dtype, kind)
        wide_a, wide_b = a.double(), b.double()
        error = (dot(a, b, precision).double() - wide_a @ wide_b.T).abs()
        size = wide_a.abs() @ wide_b.abs().T
        relative = float((error / size).max())
        # the largest unit for which K roundings explain the error
        note = f"{(relative - product if relative > product else relative) / DEPTH * 2**24:.3g} * 2**-24 a term"
        rows.append(Row(f"dot {name}, {kind}", relative, DEPTH * unit + product, "of sum |a||b|", note))
    return rows


def dots() -> list[Row]:
    """Accumulation in tensor cores, by operand dtype and precision."""
    rows = _accumulation("float16", torch.float16, "ieee", TENSOR_CORE_UNIT, 0.0)
    rows += _accumulation("bfloat16", torch.bfloat16, "ieee", TENSOR_CORE_UNIT, 0.0)
    rows += _accumulation("float32 ieee", torch.float32, "ieee", 2.0**-24, 0.0)
    rows += _accumulation("float32 tf32", torch.float32, "tf32", TENSOR_CORE_UNIT, 2 * TF32_OPERAND + TF32_OPERAND**2)
    rows += _accumulation("float32 tf32x3", torch.float32, "tf32x3", TENSOR_CORE_UNIT, TF32X3_PRODUCT)
    return rows


def dots_float8() -> list[Row]:
    """Accumulation of float8 products (14 bits on Hopper unless promoted)."""
    return _accumulation("float8_e4m3fn", torch.float8_e4m3fn, "ieee", FP8_TENSOR_CORE_UNIT, 0.0) + _accumulation(
        "float8_e5m2", torch.float8_e5m2, "ieee", FP8_TENSOR_CORE_UNIT, 0.0
    )


def truncation() -> list[Row]:
    """How many bits below the largest product a tensor core keeps: 1 + 15 products of 2**-k, summed at once."""
    rows = []
    for dtype in (torch.float16, torch.bfloat16):
        kept = 0
        for bits in range(18, 30):
            a = torch.zeros(TILE, TILE, device="cuda", dtype=dtype)
            b = torch.zeros_like(a)
            a[:, 0] = b[:, 0] = 1.0
            a[:, 1:16] = 2.0 ** -(bits // 2)
            b[:, 1:16] = 2.0 ** -(bits - bits // 2)
            if float(dot(a, b, "ieee")[0, 0]) > 1.0:
                kept = bits
        rows.append(Row(f"dot {dtype}: smallest product that counts beside 1", float(kept), None, "2**-k"))
    return rows


def casts() -> list[Row]:
    """Where a store beyond the largest float8 goes: 1 means it saturates."""
    rows = []
    for dtype, largest in ((torch.float8_e4m3fn, 448.0), (torch.float8_e5m2, 57344.0)):
        x = torch.full((16,), largest * 4, device="cuda")
        out = torch.empty(16, device="cuda", dtype=dtype)
        cast_kernel[(1,)](x, out, 16, BLOCK=16)
        rows.append(Row(f"a store beyond {dtype} saturates", float(float(out.float()[0]) == largest), None, "yes/no"))
    nan = torch.full((BLOCK,), math.nan, device="cuda")
    dropped = float(not binary("max", nan, torch.ones_like(nan)).isnan().any())
    rows.append(Row("tl.maximum drops NaN", dropped, None, "yes/no"))
    return rows


MEASUREMENTS: tuple[Callable[[], list[Row]], ...] = (
    exponentials, logarithms, roots_and_quotients, transcendentals, flushing, dots, dots_float8, truncation, casts,
)  # fmt: skip


def measure() -> list[Row]:
    """Every row; a measurement that raises becomes one row with its reason."""
    rows: list[Row] = []
    for function in MEASUREMENTS:
        try:
            rows += function()
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - recorded as a row: one missing instruction must not hide the others
            reason = f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ''}"
            rows.append(Row(function.__name__, None, None, "", reason[:160]))
    return rows


def page_of(rows: list[Row], device: str) -> str:
    """The page as Markdown."""
    lines = [
        "# GPU constants",
        "",
        f"Measured on {device} with torch {torch.__version__} and Triton {triton.__version__}, {COUNT} values a "
        f"function, depth {DEPTH} for products, by `python -m conformance.bench.gpu_constants`. `allowed` is what "
        "`conformance/accuracy.py` takes from the documents named there.",
        "",
        "| what | measured | allowed | unit | | note |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        measured = "-" if row.measured is None else f"{row.measured:.4g}"
        allowed = "-" if row.allowed is None else f"{row.allowed:.4g}"
        lines.append(f"| {row.name} | {measured} | {allowed} | {row.unit} | {row.verdict} | {row.note} |")
    return "\n".join(lines) + "\n"


def main(output_path: str = "docs/gpu-constants.md") -> None:
    """Measure, write the page to `output_path` and print it; raises RuntimeError without a CUDA device."""
    if not torch.cuda.is_available():
        raise RuntimeError("the constants are those of a GPU: run this where torch sees a CUDA device")
    page = page_of(measure(), torch.cuda.get_device_name())
    Path(output_path).write_text(page)
    print(page)


if __name__ == "__main__":
    main()
