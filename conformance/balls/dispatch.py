"""The table of rules by torch name, and the mode under which a reference runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from conformance.balls import (
    arithmetic,
    comparisons,
    elementary,
    fallback,
    losses,
    movement,
    normalization,
    products,
    reductions,
    softmax,
)
from conformance.balls.context import CURRENT, Context
from conformance.balls.tensor import BallTensor, lift
from conformance.promises import Promises

T = torch.Tensor

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "subtract": arithmetic.sub,
    "rsub": arithmetic.rsub,
    "mul": arithmetic.mul,
    "multiply": arithmetic.mul,
    "div": arithmetic.div,
    "divide": arithmetic.div,
    "true_divide": arithmetic.div,
    "remainder": arithmetic.remainder,
    "neg": arithmetic.neg,
    "negative": arithmetic.neg,
    "abs": arithmetic.absolute,
    "absolute": arithmetic.absolute,
    "sign": arithmetic.sign,
    "square": arithmetic.square,
    "reciprocal": arithmetic.reciprocal,
    "addcmul": arithmetic.addcmul,
    "addcdiv": arithmetic.addcdiv,
    "lerp": arithmetic.lerp,
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "fmax": arithmetic.fmax,
    "fmin": arithmetic.fmin,
    "clamp": arithmetic.clamp,
    "clip": arithmetic.clamp,
    "clamp_min": lambda x, min: arithmetic.clamp(x, min=min),
    "clamp_max": lambda x, max: arithmetic.clamp(x, max=max),
    "relu": arithmetic.relu,
    "where": arithmetic.where,
    "masked_fill": arithmetic.masked_fill,
    "nan_to_num": arithmetic.nan_to_num,
    "floor": arithmetic.floor,
    "ceil": arithmetic.ceil,
    "trunc": arithmetic.trunc,
    "fix": arithmetic.trunc,
    "round": arithmetic.nearest,
    "floor_divide": lambda x, y: arithmetic.div(x, y, rounding_mode="floor"),
    "pow": arithmetic.power,
    "sqrt": elementary.sqrt,
    "rsqrt": elementary.rsqrt,
    "exp": elementary.exp,
    "exp2": elementary.exp2,
    "expm1": elementary.expm1,
    "log": elementary.log,
    "log2": elementary.log2,
    "log10": elementary.log10,
    "log1p": elementary.log1p,
    "sin": elementary.sin,
    "cos": elementary.cos,
    "tan": elementary.tan,
    "tanh": elementary.tanh,
    "erf": elementary.erf,
    "atan": elementary.atan,
    "sigmoid": elementary.sigmoid,
    "silu": elementary.silu,
    "gelu": elementary.gelu,
    "softplus": elementary.softplus,
    "logsigmoid": elementary.logsigmoid,
    "leaky_relu": elementary.leaky_relu,
    "hardtanh": elementary.hardtanh,
    "relu6": elementary.relu6,
    "elu": elementary.elu,
}

_TESTS: dict[str, Callable[..., Any]] = {
    **{name: getattr(comparisons, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "less": comparisons.lt,
    "less_equal": comparisons.le,
    "greater": comparisons.gt,
    "greater_equal": comparisons.ge,
    "not_equal": comparisons.ne,
    "isnan": comparisons.isnan,
    "isinf": comparisons.isinf,
    "isfinite": comparisons.isfinite,
}

_REDUCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(reductions, name)
    for name in (
        "mean",
        "var",
        "std",
        "var_mean",
        "std_mean",
        "amax",
        "amin",
        "argmax",
        "argmin",
        "cumsum",
        "prod",
        "norm",
    )
} | {
    "sum": reductions.add_up,
    "max": reductions.largest,
    "min": reductions.smallest,
    "linalg_vector_norm": reductions.vector_norm,
}

_COMPOSITES: dict[str, Callable[..., Any]] = {
    name: getattr(module, name)
    for module, names in (
        (softmax, ("softmax", "softmin", "log_softmax", "logsumexp")),
        (losses, ("cross_entropy", "nll_loss")),
        (normalization, ("rms_norm", "layer_norm", "group_norm", "normalize")),
    )
    for name in names
} | {
    "matmul": products.matmul,
    "mm": products.matmul,
    "bmm": products.matmul,
    "mv": products.matmul,
    "dot": products.matmul,
    "vdot": products.matmul,
    "inner": products.matmul,
    "outer": products.outer,
    "addmm": products.addmm,
    "baddbmm": products.addmm,
    "addmv": products.addmm,
    "linear": products.linear,
    "einsum": products.einsum,
    "scaled_dot_product_attention": products.scaled_dot_product_attention,
}  # fmt: skip

_VIEWS = (
    "reshape", "view", "transpose", "swapaxes", "swapdims", "permute", "expand", "expand_as", "flatten", "unflatten",
    "unsqueeze", "squeeze", "movedim", "moveaxis", "narrow", "select", "unbind", "chunk", "split", "tensor_split",
    "t", "diagonal", "roll", "flip", "fliplr", "flipud", "rot90", "repeat", "tile", "gather", "index_select",
    "take_along_dim", "take", "masked_select", "tril", "triu", "diag", "diag_embed", "view_as", "reshape_as", "unfold",
    "as_strided", "ravel", "broadcast_to", "adjoint", "pixel_shuffle",
)  # fmt: skip

_JOINS = ("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack")

_SAME = (
    "contiguous", "detach", "detach_", "cpu", "alias", "dropout", "identity", "cuda", "resolve_conj",
    "resolve_neg",
)  # fmt: skip

_CASTS = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "int": torch.int32,
    "long": torch.int64,
    "short": torch.int16,
    "char": torch.int8,
    "byte": torch.uint8,
    "bool": torch.bool,
}

_IN_PLACE_OF = (
    "add", "sub", "mul", "div", "clamp", "relu", "masked_fill", "exp", "sqrt", "rsqrt", "neg", "abs", "sigmoid", "tanh",
    "pow", "addcmul", "addcdiv", "lerp", "silu", "round", "floor", "ceil", "reciprocal", "square", "softmax", "tril",
    "triu", "log", "nan_to_num",
)  # fmt: skip


def _binary_alias(rule: Callable[..., Any], swapped: bool) -> Callable[..., Any]:
    return (lambda x, y: rule(y, x)) if swapped else rule


def _table() -> dict[str, Callable[..., Any]]:
    table: dict[str, Callable[..., Any]] = {**_ELEMENTWISE, **_TESTS, **_REDUCTIONS, **_COMPOSITES}
    for name in _VIEWS:
        method = getattr(T, name, None) or getattr(torch, name, None) or getattr(functional, name)
        table[name] = movement.moving(method)
    for name in _JOINS:
        table[name] = movement.joining(getattr(torch, name))
    for name in _SAME:
        table[name] = movement.same
    for name, dtype in _CASTS.items():
        table[name] = movement.casting(dtype)
    for name in _IN_PLACE_OF:
        table[name + "_"] = movement.inplace(table[name])
    for name in ("scatter_", "index_copy_", "index_fill_"):
        table[name] = movement.scattering(getattr(T, name))
        table[name[:-1]] = movement.copying(table[name])
    adding: dict[str, Callable[..., Any]] = {
        "scatter_add_": movement.scatter_add_,
        "index_add_": movement.index_add_,
        "index_put_": movement.index_put_,
    }
    for name, rule in adding.items():
        table[name] = rule
        table[name[:-1]] = movement.copying(rule)
    for name, rule in (
        ("add", arithmetic.add), ("sub", arithmetic.sub), ("mul", arithmetic.mul), ("truediv", arithmetic.div),
        ("div", arithmetic.div), ("matmul", products.matmul), ("pow", arithmetic.power), ("mod", arithmetic.remainder),
    ):  # fmt: skip
        table[f"__{name}__"] = rule
        table[f"__r{name}__"] = _binary_alias(rule, True)
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        table[f"__{name}__"] = table[name]
    table |= {
        "rdiv": lambda x, y: arithmetic.div(y, x),
        "__rsub__": lambda x, y: arithmetic.sub(y, x),
        "view": movement.viewing(table["view"]),
        "__neg__": arithmetic.neg,
        "__abs__": arithmetic.absolute,
        "__getitem__": movement.getitem,
        "__setitem__": movement.setitem,
        "clone": movement.clone,
        "requires_grad_": movement.requires_grad_,
        "copy_": movement.copy_,
        "to": movement.to,
        "type": movement.to,
        "type_as": movement.type_as,
        "repeat_interleave": movement.repeat_interleave,
        "pad": movement.pad,
        "broadcast_tensors": movement.broadcast_tensors,
        "meshgrid": movement.meshed(torch.meshgrid),
        "zeros_like": movement.full_like(0.0),
        "ones_like": movement.full_like(1.0),
        "empty_like": movement.full_like(0.0),
        "full_like": movement.full_like(None),
        "new_zeros": movement.new_full(0.0),
        "new_ones": movement.new_full(1.0),
        "new_empty": movement.new_full(0.0),
        "new_full": movement.new_full(None),
        "fill_": movement.fill_,
        "zero_": lambda x: movement.fill_(x, 0.0),
        "special_expit": elementary.sigmoid,
        "special_logsumexp": softmax.logsumexp,
        "rsqrt": elementary.rsqrt,
        "is_floating_point": lambda x: x.dtype.is_floating_point,
        "numel": lambda x: x.numel(),
        "result_type": lambda x, y: torch.promote_types(x.dtype, y.dtype),
        "allclose": lambda *a, **k: bool(_unruled(T.allclose, "allclose", a, k)),
    }
    table["__torch_function__"] = handle
    return table


def _unruled(function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fallback.estimate(CURRENT.get(), name, function, args, kwargs)


def _has_float(value: Any) -> bool:
    if type(value) is BallTensor:
        return True
    if isinstance(value, torch.Tensor):
        return value.dtype.is_floating_point
    if isinstance(value, (tuple, list)):
        return any(_has_float(v) for v in value)
    return False


def handle(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a torch call inside a reference: by its rule, by torch where no float is involved, or estimated."""
    name = function.__name__
    if name == "__get__":
        return function(*args, **kwargs)
    if any(map(_has_float, args)) or (kwargs and any(map(_has_float, kwargs.values()))):
        rule = RULES.get(name)
        if rule is None and name == "embedding":
            rule = movement.embedding if not _has_float(args[0]) else movement.embedding_method
        if rule is None:
            return _unruled(function, name, args, kwargs)
        if not kwargs:
            return rule(*args)
        out = kwargs.pop("out", None)
        for first in ("input", "self", "tensor"):
            if first in kwargs:
                args = (kwargs.pop(first), *args)
        if kwargs.pop("layout", None) is not None or "device" in kwargs or "memory_format" in kwargs:
            kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "memory_format", "pin_memory")}
        result = rule(*args, **kwargs)
        return result if out is None else movement.copy_(out, result)
    out = function(*args, **kwargs)
    return _wrapped(out)


def _wrapped(value: Any) -> Any:
    """Floats made inside a reference (a factory, a cast of indices) as exact balls that may be changed in place."""
    if type(value) is torch.Tensor:
        return movement.clone(lift(CURRENT.get(), value)) if value.dtype in _FLOATS else value
    if type(value) in (tuple, list):
        return type(value)(_wrapped(v) for v in value)
    return value


_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

RULES: dict[str, Callable[..., Any]] = _table()


class BallMode(TorchFunctionMode):
    """While it is open, torch calls on balls follow their rules, and floats that torch makes become balls."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return handle(func, args, kwargs or {})


# it holds nothing: one is enough
BALL_MODE = BallMode()


@functools.lru_cache(maxsize=256)
def context_of(promises: Promises, compute: torch.dtype) -> Context:
    """The context of `promises` for computations in `compute`."""
    return Context(promises, compute, RULES)
