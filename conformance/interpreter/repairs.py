"""What the stock interpreter gets wrong, one repair for each noun, and a probe that says whether it still does."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable

import numpy as np
import triton.language as tl
import triton.language.extra.libdevice as neutral
import triton.runtime.interpreter as stock
from triton._C.libtriton import ir

from conformance.interpreter import formats


@dataclasses.dataclass(frozen=True)
class Repair:
    """A repair: `right()` tells whether stock Triton does it right by itself, in which case it stays off."""

    name: str
    what: str
    right: Callable[[], bool]


def _handle(values: list[float], dtype: object) -> stock.TensorHandle:
    data = np.array(values, np.float32)
    return stock.TensorHandle(formats.encode(data, "bf16") if dtype is tl.bfloat16 else data, dtype)


def _arithmetic() -> bool:
    one = _handle([1.5, -2.0], tl.bfloat16)
    total = stock.interpreter_builder.create_fadd(one, one)
    return bool(total.data.dtype == np.uint16) and formats.decode(total.data, "bf16").tolist() == [3.0, -4.0]


def _casts() -> bool:
    values = np.array([1.005859375, -1.0 - 2**-7 - 2**-9, 0.4845, 3e38, np.inf, np.nan, 1e-40], np.float32)
    source = stock.TensorHandle(values, tl.float32)
    for dtype in (tl.bfloat16, tl.float8e4nv, tl.float8e5):
        cast = stock.interpreter_builder.create_fp_to_fp(source, dtype, ir.ROUNDING_MODE.RTNE).data
        if not np.array_equal(cast, formats.encode(values, dtype.name)):
            return False
    return True


def _dots() -> bool:
    ones, operand = np.eye(16, dtype=np.float32), np.full((16, 16), 1 + 2**-12, np.float32)
    a, b, d = (stock.TensorHandle(v, tl.float32) for v in (ones, operand, np.zeros_like(ones)))
    return bool((stock.interpreter_builder.create_dot(a, b, d, ir.INPUT_PRECISION.TF32, 0).data == 1).all())


def _sums() -> bool:
    # in half precision 2048 + 1 is 2048: only a sum that is rounded at every step stays there
    values = np.array([2048] + [0.5] * 7, np.float16)
    tensor = tl.tensor(stock.TensorHandle(values, tl.float16), tl.block_type(tl.float16, [8]))
    return bool(stock.ReduceOps(0, None, False).sum(tensor).handle.data.item() == 2048)


def _scalars() -> bool:
    return isinstance(stock._implicit_cvt(1.0), tl.tensor)


def _truth() -> bool:
    tree = stock.FunctionRewriter.ast_transformer.visit(ast.parse("a and b"))
    return not isinstance(tree.body[0].value, ast.BoolOp)


def _loops() -> bool:
    tree = stock.FunctionRewriter.ast_transformer.visit(ast.parse("for i in range(4): pass"))
    return not isinstance(tree.body[0].iter.func, ast.Name)


def _assertions() -> bool:
    return bool(stock.InterpreterOptions().debug)


def _rejections() -> bool:
    half = tl.block_type(tl.float16, [16, 16])
    return bool(stock.interpreter_builder.codegen_fns["min_dot_size"](half, half)[2] > 1)


def _libdevice() -> bool:
    return neutral.tanh(1.0) is not None


ALL = (
    Repair("arithmetic", "bfloat16 and 8-bit floats are computed in float32, not on their bit patterns", _arithmetic),
    Repair("casts", "conversions to bfloat16 and 8-bit floats round to nearest even and saturate", _casts),
    Repair("dots", "TF32 operands unless input_precision is ieee; half accumulators round every 16 products", _dots),
    Repair("sums", "half and bfloat16 sums round at every step of a tree", _sums),
    Repair("scalars", "float arguments are float32 scalars, with .to() and .dtype", _scalars),
    Repair(
        "truth", "and, or, not, chained comparisons, max and min work elementwise; if on a block is refused", _truth
    ),
    Repair("loops", "variables of range loops have an integer type, with .to(), and // and % truncate", _loops),
    Repair("assertions", "tl.device_assert asserts", _assertions),
    Repair(
        "rejections", "what only the compiler refuses is reported: thin dots, break, mixed accumulators", _rejections
    ),
    Repair("libdevice", "functions of the device library have bodies", _libdevice),
)


def needed() -> frozenset[str]:
    """The names of the repairs whose probe finds the stock interpreter wrong."""
    with np.errstate(all="ignore"):
        return frozenset(r.name for r in ALL if not r.right())
