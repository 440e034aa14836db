"""CUDA's device library in NumPy: `libdevice.tanh` and its kin have empty bodies outside the compiler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import triton.language.extra.cuda.libdevice as cuda
import triton.language.extra.libdevice as neutral
import triton.runtime.interpreter as stock
from triton.language import core

from conformance.interpreter.blocks import Blocks
from conformance.interpreter.builder import Array, numpy_dtype
from conformance.interpreter.errors import ON_A_GPU
from conformance.interpreter.tape import Handle
from conformance.runtime import CannotBeJudged


def _special(op: Callable[..., torch.Tensor]) -> Callable[..., Array]:
    def run(*arrays: Array) -> Array:
        full = np.broadcast_arrays(*arrays)
        result: Array = op(*[torch.from_numpy(np.array(a, np.float64)) for a in full]).numpy()
        return result

    return run


def _power(x: Array, n: Array) -> Array:
    result: Array = np.power(x.astype(np.float64), n)
    return result


def _bits(a: Array) -> Array:
    return a.view(f"u{a.dtype.itemsize}")


def _popcount(a: Array) -> Array:
    bits = np.unpackbits(np.ascontiguousarray(_bits(a))[..., None].view(np.uint8), axis=-1)
    count: Array = bits.sum(-1)
    return count


def _leading_zeros(a: Array) -> Array:
    width = a.dtype.itemsize * 8
    bits = np.unpackbits(
        np.ascontiguousarray(_bits(a).astype(f">u{a.dtype.itemsize}"))[..., None].view(np.uint8), axis=-1
    )
    zeros: Array = np.where(bits.any(-1), bits.argmax(-1), width)
    return zeros


def _first_set(a: Array) -> Array:
    bits = np.unpackbits(np.ascontiguousarray(_bits(a))[..., None].view(np.uint8), axis=-1, bitorder="little")
    return np.where(bits.any(-1), bits.argmax(-1) + 1, 0)


def _half_away(x: Array) -> Array:
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1.0, x), 0.0)


def _gamma(x: torch.Tensor) -> torch.Tensor:
    sign = torch.where(x < 0, torch.sign(torch.sin(torch.pi * (x + 1))), 1.0)
    return sign * torch.exp(torch.lgamma(x))


def _normal_cdf(x: Array) -> Array:
    return 0.5 * _special(torch.special.erfc)(-x / np.sqrt(2.0))


# the functions by their name without `__nv_` and a precision suffix; floats are computed in float64 and rounded once
_FLOAT: dict[str, Callable[..., Any]] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil, "copysign": np.copysign,
    "cos": np.cos, "cosh": np.cosh,
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2)), "erf": _special(torch.special.erf),
    "erfc": _special(torch.special.erfc), "erfcinv": lambda x: _special(torch.special.erfinv)(1 - x),
    "erfcx": _special(torch.special.erfcx), "erfinv": _special(torch.special.erfinv), "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x), "exp2": np.exp2, "expm1": np.expm1, "fabs": np.abs,
    "fdim": lambda x, y: np.where(np.isnan(x + y), np.nan, np.maximum(x - y, 0)), "floor": np.floor,
    "fma": lambda x, y, z: x * y + z, "fmod": np.fmod, "hypot": np.hypot, "cyl_bessel_i0": _special(torch.special.i0),
    "cyl_bessel_i1": _special(torch.special.i1), "j0": _special(torch.special.bessel_j0),
    "j1": _special(torch.special.bessel_j1), "y0": _special(torch.special.bessel_y0),
    "y1": _special(torch.special.bessel_y1), "ldexp": lambda x, n: np.ldexp(x, n.astype(np.int32)),
    "lgamma": _special(torch.special.gammaln), "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "logb": lambda x: np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.frexp(x)[1] - 1.0)),
    "nearbyint": np.rint, "norm3d": lambda x, y, z: np.sqrt(x * x + y * y + z * z),
    "norm4d": lambda x, y, z, w: np.sqrt(x * x + y * y + z * z + w * w), "normcdf": _normal_cdf,
    "normcdfinv": _special(torch.special.ndtri), "pow": np.power, "powi": _power, "rcbrt": lambda x: 1 / np.cbrt(x),
    "remainder": lambda x, y: x - y * np.rint(x / y), "rhypot": lambda x, y: 1 / np.hypot(x, y), "rint": np.rint,
    "round": _half_away, "rsqrt": lambda x: 1 / np.sqrt(x), "saturate": lambda x: np.nan_to_num(x).clip(0, 1),
    "scalbn": lambda x, n: np.ldexp(x, n.astype(np.int32)), "sin": np.sin, "sinh": np.sinh,
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2)), "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
    "tgamma": _special(_gamma),
    "trunc": np.trunc, "fast_cos": np.cos, "fast_exp10": lambda x: np.power(10.0, x), "fast_exp": np.exp,
    "fast_fdivide": np.divide, "fast_log10": np.log10, "fast_log2": np.log2, "fast_log": np.log, "fast_pow": np.power,
    "fast_sin": np.sin, "fast_tan": np.tan, "fast_tanh": np.tanh,
    "add_rn": np.add, "sub_rn": np.subtract, "mul_rn": np.multiply, "div_rn": np.divide,
    "fma_rn": lambda x, y, z: x * y + z,
    "rcp_rn": lambda x: 1 / x, "sqrt_rn": np.sqrt, "rsqrt_rn": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
# functions of the bits or of whole numbers, computed in the type they are given
_EXACT: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "llabs": np.abs, "popc": _popcount, "popcll": _popcount, "clz": _leading_zeros,
    "clzll": _leading_zeros, "ffs": _first_set, "ffsll": _first_set, "isfinited": np.isfinite, "finitef": np.isfinite,
    "isinfd": np.isinf, "isinff": np.isinf, "isnand": np.isnan, "isnanf": np.isnan, "signbitd": np.signbit,
    "signbitf": np.signbit, "float_as_int": lambda a: a.view(np.int32), "float_as_uint": lambda a: a.view(np.uint32),
    "int_as_float": lambda a: a.view(np.float32), "uint_as_float": lambda a: a.view(np.float32),
    "double_as_longlong": lambda a: a.view(np.int64), "longlong_as_double": lambda a: a.view(np.float64),
    "llrint": np.rint, "llrintf": np.rint, "llround": _half_away, "llroundf": _half_away,
    "ilogb": lambda a: np.frexp(a)[1] - 1, "ilogbf": lambda a: np.frexp(a)[1] - 1,
    "nextafter": np.nextafter, "nextafterf": np.nextafter,
    "hadd": lambda a, b: (a.astype(np.int64) + b) >> 1, "rhadd": lambda a, b: (a.astype(np.int64) + b + 1) >> 1,
    "float2int_rn": np.rint, "float2int_rz": np.trunc, "float2int_ru": np.ceil, "float2int_rd": np.floor,
    "float2ll_rn": np.rint, "float2ll_rz": np.trunc, "int2float_rn": lambda a: a, "uint2float_rn": lambda a: a,
    "ll2float_rn": lambda a: a, "ull2float_rn": lambda a: a, "int2double_rn": lambda a: a,
    "uint2double_rn": lambda a: a,
    "double2float_rn": lambda a: a, "double2int_rn": np.rint, "double2int_rz": np.trunc, "double2ll_rn": np.rint,
    "double2ll_rz": np.trunc,
}  # fmt: skip


def function_of(symbol: str) -> Callable[..., Any] | None:
    """The NumPy function of a device library symbol (`__nv_tanhf`), None where there is none."""
    name = symbol.removeprefix("__nv_")
    if name in _EXACT:
        return _EXACT[name]
    for candidate in (name, name.removesuffix("f"), name[1:], name.replace("fmaf_", "fma_")):
        op = _FLOAT.get(candidate)
        if op is not None:
            return _in_double(op)
    return None


def _in_double(op: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arrays: Array) -> Any:
        return op(*[a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays])

    return run


def _extern(
    self: Blocks, library: str, path: str, symbol: str, arguments: Sequence[Handle], result: Any, pure: bool
) -> Handle:
    op = function_of(symbol)
    if op is None:
        raise CannotBeJudged(f"cannot be judged on a CPU: libdevice function {symbol}: {ON_A_GPU}")
    dtype = result.scalar if hasattr(result, "scalar") else result
    cast = numpy_dtype(dtype)
    shape = next((a.shape for a in arguments if a.shape), ())
    return self.recording.emit(lambda *arrays: np.asarray(op(*arrays)).astype(cast), arguments, dtype, shape)


def _called(name: str) -> Callable[..., Any]:
    function = inspect.unwrap(getattr(cuda, name))

    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("_semantic", None)
        return function(*[_widened(a) for a in args], **kwargs, _semantic=stock.interpreter_semantic)

    return call


def _widened(value: Any) -> Any:
    """bf16 and fp16 have no entry in the library's tables: the compiler's wrappers are called with fp32."""
    if isinstance(value, core.tensor) and value.dtype.name in ("bf16", "fp16"):
        return stock.interpreter_semantic.cast(value, core.float32)
    return value


def patch(builder_class: type[Blocks]) -> None:
    """Give the device library's functions bodies. Kernels may have imported a function before: its code is replaced."""
    builder_class.create_extern_elementwise = _extern
    calls = {}
    for name, function in list(vars(cuda).items()):
        if callable(function) and core.is_builtin(function):
            calls[name] = _called(name)
            setattr(cuda, name, calls[name])
    neutral._conformance_calls = calls
    for name, function in list(vars(neutral).items()):
        if name in calls and inspect.isfunction(function):
            namespace: dict[str, Any] = {}
            exec(f"def {name}(*args, **kwargs): return _conformance_calls[{name!r}](*args, **kwargs)", namespace)
            function.__code__ = namespace[name].__code__
            function.__kwdefaults__ = function.__defaults__ = None
