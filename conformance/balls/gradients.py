"""References that differentiate: torch's autograd over balls, by the operations that it consists of.

Autograd works on torch tensors, above the operations that compute. A `TrackedBall` is a torch tensor without memory
that stands for a ball: autograd records what is done with it, and each operation, of the reference and of its gradient
alike, comes down to `GradientMode`, which applies the rule of that operation to the balls.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.balls import fallback, movement, normalization, softmax
from conformance.balls.context import CURRENT, Context
from conformance.balls.tensor import BallTensor, as_ball, lift


class TrackedBall(torch.Tensor):
    """A torch tensor of the shape and dtype of `ball`, which holds its values."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    ball: BallTensor

    @staticmethod
    def __new__(cls, ball: BallTensor) -> TrackedBall:
        """A tensor that stands for `ball`."""
        tensor: TrackedBall = torch.Tensor._make_wrapper_subclass(
            cls, ball.shape, dtype=ball.dtype, device=torch.device("cpu")
        )
        tensor.ball = ball
        return tensor

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise TypeError(f"{func} outside the reference that the tensor belongs to")


def tracked(value: Any) -> Any:
    """`value` with each ball in it as a torch tensor that autograd follows."""
    return _mapped(value, BallTensor, TrackedBall)


def untracked(value: Any) -> Any:
    """The inverse of `tracked`."""
    return _mapped(value, TrackedBall, operator.attrgetter("ball"))


def _mapped(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    if type(value) is kind:
        return change(value)
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        parts = [_mapped(v, kind, change) for v in value]
        # torch's named tuples (max, sort) are made from one sequence
        return type(value)(parts)
    return {k: _mapped(v, kind, change) for k, v in value.items()} if type(value) is dict else value


def evaluated(c: Context, reference: Callable[..., Any], arguments: list[Any]) -> tuple[list[Any], Any]:
    """The arguments as the reference leaves them, and its result: balls."""
    own = tracked(arguments)
    # attention is taken apart into products and a softmax, which have rules
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), GradientMode(c):
        result = reference(*own)
    return untracked(own), untracked(result)


class GradientMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is open, torch operations on tracked balls follow the rules of balls, those of autograd included.

    An operation without a rule is taken apart by torch's own table of decompositions; what that does not know is
    estimated.
    """

    def __init__(self, c: Context) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._c = c
        self._parts = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        given, named = untracked(args), untracked(kwargs)
        if not _has_ball(given) and not _has_ball(named):
            made = func(*given, **named)
            return tracked(_lifted(self._c, made))
        rule = _ATEN.get(name)
        if rule is None and func in decomposition_table and name not in self._c.rules:
            self._parts += 1
            try:
                with self:
                    return decomposition_table[func](*args, **kwargs)
            finally:
                self._parts -= 1
        if name in _CONVERSIONS:
            return tracked(self._convert(*given, **named))
        rule = rule or self._c.rules.get(name)
        named = {k: v for k, v in named.items() if k not in ("device", "layout", "pin_memory", "memory_format")}
        if rule is None:
            return tracked(fallback.estimate(self._c, name, func, given, named))
        result = rule(*given, **named)
        # an operation in place gives the tensor that it changed
        return args[0] if name.endswith("_") and not name.startswith("_") else tracked(result)

    def _convert(self, x: BallTensor, dtype: torch.dtype | None = None, **_: Any) -> Any:
        """x in `dtype`. What torch rounds between the parts of one operation, a kernel computes in one go."""
        if self._parts and dtype is not None and dtype.is_floating_point and x.dtype.is_floating_point:
            x = movement.clone(x)
            x.dtype = dtype
            return x
        return x if dtype is None else movement.cast(x, dtype)


def _has_ball(value: Any) -> bool:
    if type(value) is BallTensor:
        return True
    if isinstance(value, (tuple, list)):
        return any(map(_has_ball, value))
    return isinstance(value, dict) and any(map(_has_ball, value.values()))


def _lifted(c: Context, value: Any) -> Any:
    """Floats that torch makes inside the reference, as exact balls that may be changed in place."""
    if isinstance(value, torch.Tensor):
        return movement.clone(lift(c, value)) if value.dtype.is_floating_point else value
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(_lifted(c, v) for v in value)
    return value


# Rules of operations that torch's Python functions do not have, or not under that name or with those arguments.


def _slice(x: BallTensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> BallTensor:
    where = (slice(None),) * (dim % x.ndim) + (slice(start, end, step),)
    return x.moved(lambda a: a[where])


def _written(place: Callable[..., BallTensor]) -> Callable[..., BallTensor]:
    def rule(x: Any, source: Any, *where: Any, **named: Any) -> BallTensor:
        out = movement.clone(x)
        movement.setitem(place(out, *where, **named), ..., source)
        return out

    return rule


def _select(x: BallTensor, dim: int, index: int) -> BallTensor:
    where = (slice(None),) * (dim % x.ndim) + (index,)
    return x.moved(lambda a: a[(*where, ...)])


def _places(indices: Any) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False, unsafe: bool = False) -> BallTensor:
    target = x if type(x) is BallTensor else as_ball(CURRENT.get(), x)
    return movement.index_put_(target, _places(indices), values, accumulate)


def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    rules = CURRENT.get().rules
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    rstd = rules["rsqrt"](rules["add"](rules["var"](x, axes, False, True), eps))
    return normalization.layer_norm(x, shape, weight, bias, eps), rules["mean"](x, axes, True), rstd


def _reshape(x: Any, size: Any, *_: Any) -> Any:
    return CURRENT.get().rules["reshape"](x, size)


_CONVERSIONS = ("_to_copy", "convert_element_type")

_ATEN: dict[str, Callable[..., Any]] = {
    "view": _reshape,
    "_unsafe_view": _reshape,
    "_reshape_alias": _reshape,
    "slice": _slice,
    "slice_scatter": _written(_slice),
    "select": _select,
    "select_scatter": _written(_select),
    "index": lambda x, indices: movement.getitem(as_ball(CURRENT.get(), x), _places(indices)),
    "index_put_": _index_put,
    "_index_put_impl_": _index_put,
    "index_put": lambda x, *args: _index_put(movement.clone(x), *args),
    "embedding": movement.embedding_method,
    "constant_pad_nd": lambda x, pad, value=0.0: movement.pad(x, pad, value=value),
    "_softmax": lambda x, dim, half_to_float: softmax.softmax(x, dim),
    "_log_softmax": lambda x, dim, half_to_float: softmax.log_softmax(x, dim),
    "native_layer_norm": _layer_norm,
    "sgn": lambda x: CURRENT.get().rules["sign"](x),
    "_local_scalar_dense": lambda x: x.item(),
    "lift_fresh": movement.same,
    "_has_same_storage_numel": lambda x, y: x.numel() == y.numel(),
}
