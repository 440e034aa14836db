"""Rules of data movement: views, indexing, joining, in-place writes and casts. All exact but downcasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from conformance.balls.context import CURRENT, Array, Context
from conformance.balls.formats import FORMATS
from conformance.balls.rounding import extent, perhaps_rounded
from conformance.balls.tensor import BallTensor, as_ball, lift, operand, result_dtype


def bits(array: Array) -> torch.Tensor:
    """A torch tensor on the memory of `array`; extended precision travels as complex128, which has its size."""
    return torch.from_numpy(np.asarray(array).view(np.complex128) if array.dtype == np.longdouble else array)


def array(tensor: torch.Tensor, like: Array) -> Array:
    """The inverse of `bits`."""
    out = tensor.numpy()
    return out.view(np.longdouble) if like.dtype == np.longdouble else out


def moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that lets torch's own `function` move midpoints and radii; it may return several tensors."""

    def rule(x: Any, *args: Any, **kwargs: Any) -> Any:
        c = CURRENT.get()
        ball = as_ball(c, x)
        args = tuple(_plain(a) for a in args)
        kwargs = {k: _plain(v) for k, v in kwargs.items()}
        with torch._C.DisableTorchFunction():
            mid = function(bits(ball.mid), *args, **kwargs)
            rad = None if ball.rad is None else function(bits(ball.rad), *args, **kwargs)
        if isinstance(mid, torch.Tensor):
            view: Any = (ball, lambda a: array(function(bits(a), *args, **kwargs), a))
            return BallTensor(
                c,
                array(mid, ball.mid),
                None if rad is None else array(rad, ball.mid),
                ball.dtype,
                ball.overflows,
                ball.pending,
                view,
            )
        rads = [None] * len(mid) if rad is None else [array(r, ball.mid) for r in rad]

        def part(i: int) -> Callable[[Array], Array]:
            return lambda a: array(function(bits(a), *args, **kwargs)[i], a)

        return tuple(
            BallTensor(c, array(m, ball.mid), r, ball.dtype, ball.overflows, ball.pending, (ball, part(i)))
            for i, (m, r) in enumerate(zip(mid, rads, strict=True))
        )

    rule.__name__ = getattr(function, "__name__", "moving")
    return rule


def _plain(value: Any) -> Any:
    """An argument of a data movement: exact balls used as indices or sizes become plain values."""
    if type(value) is BallTensor:
        return torch.from_numpy(np.asarray(value.mid, np.float64)).to(torch.int64)
    if isinstance(value, (tuple, list)) and any(type(v) is BallTensor for v in value):
        return type(value)(_plain(v) for v in value)
    return value


def viewing(move: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of `x.view(shape)` by `move`, and of `x.view(dtype)`, the bits of exact numbers."""

    def rule(x: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype", args[0] if args else None)
        if not isinstance(dtype, torch.dtype) or dtype is x.dtype:
            return move(x, *args, **kwargs)
        c = CURRENT.get()
        mid, rad = as_ball(c, x).operand()
        if rad is not None and rad.any():
            raise TypeError(f"the bits of a rounded result, x.view({dtype}), carry no error bound")
        out = torch.from_numpy(np.array(mid, np.float64)).to(x.dtype).view(dtype)
        return clone(lift(c, out)) if dtype.is_floating_point else out

    return rule


def getitem(x: Any, index: Any) -> Any:
    """x[index]."""
    if type(x) is not BallTensor:
        return x[_plain(index)]
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if not (part is None or part is Ellipsis or type(part) is int or type(part) is slice):
            return _GETITEM(x, index)
    if Ellipsis not in parts:
        parts = (*parts, Ellipsis)
    return x.moved(lambda a: a[parts])


_GETITEM = moving(torch.Tensor.__getitem__)


def setitem(x: BallTensor, index: Any, value: Any) -> None:
    """x[index] = value."""
    c = CURRENT.get()
    mid, rad = operand(c, value)
    index = _plain(index)
    write(x, lambda t, v: t.__setitem__(index, v), mid, rad)


def fill_(x: BallTensor, value: Any) -> BallTensor:
    """Write `value` into every element."""
    setitem(x, ..., value)
    return x


def write(x: BallTensor, put: Callable[[torch.Tensor, torch.Tensor], Any], mid: Array, rad: Array | None) -> None:
    """Let `put(target, source)` write midpoints and radii in place."""
    x.settle()
    with torch._C.DisableTorchFunction():
        if rad is not None or x.rad is not None or x.origin is not None:
            own = x.own_radius()
            put(bits(own), bits(np.asarray(extent(rad, mid), x.c.real)))
        put(bits(x.mid), bits(np.asarray(mid, x.c.real)))
    base = x
    x.factors, x.begun = (), None
    while base.origin is not None:
        base = base.origin[0]
        base.factors, base.begun = (), None
        base.overflows = base.overflows or x.overflows


def inplace(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place form of `rule`: computes, then writes the result into its first argument."""

    def in_place(x: Any, *args: Any, **kwargs: Any) -> Any:
        result = rule(x, *args, **kwargs)
        c = CURRENT.get()
        mid, rad = operand(c, result)
        if type(x) is not BallTensor:
            raise TypeError("a tensor made outside the reference is changed in place; clone it inside the reference")
        form = FORMATS.get(x.dtype)
        if form is not None and result.dtype.is_floating_point and form.unit > c.unit and result.dtype is not x.dtype:
            cast_result = cast(result, x.dtype).settle()
            mid, rad = cast_result.mid, cast_result.rad
        x.overflows = x.overflows or result.overflows
        write(x, lambda t, v: t.copy_(v), np.broadcast_to(mid, x.mid.shape).copy(), _full(rad, x.mid))
        return x

    return in_place


def _full(rad: Array | None, like: Array) -> Array | None:
    return None if rad is None else np.broadcast_to(rad, like.shape).copy()


def copy_(x: BallTensor, source: Any, non_blocking: bool = False) -> BallTensor:
    """Write `source` into x."""
    c = CURRENT.get()
    result = as_ball(c, source)
    return inplace(lambda _x, y: cast(y, _x.dtype))(x, result)  # type: ignore[no-any-return]


def scattering(function: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place rule of a torch method `function(target, dim, index, source)` that moves `source` into `target`."""

    def rule(x: BallTensor, dim: int, index: Any, source: Any, **kwargs: Any) -> BallTensor:
        c = CURRENT.get()
        mid, rad = operand(c, source)
        place = _plain(index)
        if function is torch.Tensor.scatter_ and not mid.ndim:  # a number goes to every place
            mid = np.full(tuple(place.shape), mid)
            rad = None if rad is None else np.full(mid.shape, rad)
        write(x, lambda t, v: function(t, dim, place, v, **kwargs), mid, rad)
        return x

    return rule


def copying(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The out-of-place form of an in-place rule."""

    def out_of_place(x: Any, *args: Any, **kwargs: Any) -> Any:
        return rule(clone(x), *args, **kwargs)

    return out_of_place


class GradientAsked(TypeError):
    """The reference asks for a gradient, which only a torch tensor has."""


def requires_grad_(x: BallTensor, requires_grad: bool = True) -> BallTensor:
    """`x`; GradientAsked where it shall require a gradient."""
    if requires_grad:
        raise GradientAsked("the reference differentiates")
    return x


def clone(x: Any, **_: Any) -> BallTensor:
    """A copy with its own memory, radii included, so that it may be changed in place."""
    c = CURRENT.get()
    ball = as_ball(c, x)
    rad = np.zeros_like(ball.mid) if ball.rad is None else ball.rad.copy()
    return BallTensor(c, ball.mid.copy(), rad, ball.dtype, ball.overflows, ball.pending)


def adding(c: Context, x: BallTensor, dim: int, place: Array, source: Any, alpha: float = 1) -> BallTensor:
    """Add `source` into x at `place` along `dim`: as many roundings as elements meet, in any order."""
    mid, rad = operand(c, source)
    x.settle()
    own = x.own_radius()
    mid = np.broadcast_to(mid * alpha, place.shape)
    where: list[Any] = list(np.indices(place.shape, sparse=True))
    where[dim % x.mid.ndim] = place
    key = tuple(where)
    magnitude = np.abs(x.mid).copy()
    count = np.zeros(x.mid.shape)
    np.add.at(magnitude, key, np.abs(mid) + (0 if rad is None else np.broadcast_to(rad, place.shape)))
    np.add.at(count, key, 1.0)
    np.add.at(x.mid, key, mid)
    if rad is not None:
        np.add.at(own, key, np.broadcast_to(rad, place.shape))
    rounds = (count > 0) & ~((count == 1) & (magnitude == np.abs(x.mid)) & (magnitude == 0))
    own += np.where(rounds, magnitude * count * c.acc_u * (1 + 2.0**-10), 0)
    if not c.finite(magnitude):
        own[...] = np.where(magnitude < c.largest, own, np.inf)
    return x


def scatter_add_(x: BallTensor, dim: int, index: Any, src: Any) -> BallTensor:
    """x[index] += src along dim."""
    place = _plain(index).numpy()
    source = getitem(as_ball(CURRENT.get(), src), tuple(slice(0, n) for n in place.shape))
    return adding(CURRENT.get(), x, dim, place, source)


def index_add_(x: BallTensor, dim: int, index: Any, source: Any, *, alpha: float = 1) -> BallTensor:
    """x.select(dim, index) += alpha source."""
    shape = [1] * x.ndim
    shape[dim] = -1
    place = np.broadcast_to(_plain(index).numpy().reshape(shape), source.shape)
    return adding(CURRENT.get(), x, dim, place, source, alpha)


def index_put_(x: BallTensor, indices: Any, values: Any, accumulate: bool = False) -> BallTensor:
    """x[indices] = values; with `accumulate` each of several values for one element is added."""
    if not accumulate:
        setitem(x, tuple(indices), values)
        return x
    where = torch.arange(x.numel()).reshape(x.shape)[tuple(indices)]
    values = moving(torch.broadcast_to)(as_ball(CURRENT.get(), values), where.shape)
    added = index_add_(clone(x.reshape(-1)), 0, where.reshape(-1), values.reshape(-1))
    setitem(x, ..., added.reshape(x.shape))
    return x


def joining(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of `cat`, `stack` and their like."""

    def rule(tensors: Any, *args: Any, **kwargs: Any) -> BallTensor:
        c = CURRENT.get()
        kwargs.pop("out", None)
        balls = [as_ball(c, t).settle() for t in tensors]
        with torch._C.DisableTorchFunction():
            mid = function([bits(b.mid) for b in balls], *args, **kwargs)
            rad = None
            if any(b.rad is not None for b in balls):
                rad = array(function([bits(extent(b.rad, b.mid)) for b in balls], *args, **kwargs), balls[0].mid)
        over = any(b.overflows for b in balls)
        return BallTensor(c, array(mid, balls[0].mid), rad, result_dtype(*balls), over)

    return rule


def broadcast_tensors(*tensors: Any) -> Any:
    """The tensors expanded to one shape."""
    c = CURRENT.get()
    balls = [as_ball(c, t) for t in (tensors[0] if len(tensors) == 1 else tensors)]
    shape = np.broadcast_shapes(*(b.mid.shape for b in balls))
    return tuple(b.moved(lambda a: np.broadcast_to(a, shape)) for b in balls)


def embedding(index: Any, weight: Any, *_: Any, **__: Any) -> Any:
    """Rows of `weight`."""
    return getitem(as_ball(CURRENT.get(), weight), index)


def embedding_method(weight: Any, index: Any, *_: Any, **__: Any) -> Any:
    """Rows of `weight` (`torch.embedding` has its arguments the other way round)."""
    return embedding(index, weight)


def repeat_interleave(x: Any, repeats: Any, dim: int | None = None, *, output_size: Any = None) -> Any:
    """Elements repeated `repeats` times each."""
    return moving(torch.repeat_interleave)(x, _plain(repeats), dim)


def pad(x: Any, pad: Any, mode: str = "constant", value: float | None = None) -> BallTensor:
    """x with `value` or mirrored elements around it."""
    c = CURRENT.get()
    ball = as_ball(c, x)
    if mode != "constant":
        widths = [(0, 0)] * (ball.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
        how: Any = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
        return ball.moved(lambda a: np.pad(a, widths, mode=how))
    mid = torch.nn.functional.pad(bits(ball.mid), pad, value=value or 0.0)
    rad = None if ball.rad is None else array(torch.nn.functional.pad(bits(ball.rad), pad), ball.mid)
    out = array(mid, ball.mid)
    if value and ball.mid.dtype == np.longdouble:
        inside = torch.nn.functional.pad(torch.ones(ball.mid.shape, dtype=torch.bool), pad, value=False).numpy()
        out = np.where(inside, out, value).astype(np.longdouble)
    return BallTensor(c, out, rad, ball.dtype, ball.overflows)


# casts ----------------------------------------------------------------------------------------------------------------


def cast(x: Any, dtype: torch.dtype) -> Any:
    """x in `dtype`: upcasts keep the bound, a downcast rounds once it is used, integers truncate."""
    c = CURRENT.get()
    ball = as_ball(c, x)
    if ball.dtype is dtype:
        return ball
    if dtype is torch.bool:
        return ball.c.rules["ne"](ball, 0.0)
    if not dtype.is_floating_point:
        return _to_integer(c, ball, dtype)
    if dtype not in FORMATS:
        raise TypeError(f"the reference casts to {dtype}; balls know {', '.join(str(d) for d in FORMATS)}")
    ball = perhaps_rounded(c, ball.settle(), dtype)
    pending = FORMATS[dtype].unit > c.unit and ball.dtype.is_floating_point
    pending = pending or (not ball.dtype.is_floating_point and FORMATS[dtype].unit > c.unit)
    rad = None if ball.rad is None else ball.rad.copy()
    return BallTensor(c, ball.mid.copy(), rad, dtype, ball.overflows, pending)


def _to_integer(c: Context, ball: BallTensor, dtype: torch.dtype) -> Any:
    mid, rad = ball.operand()
    if rad is None or not rad.any():
        return torch.from_numpy(np.asarray(mid, np.float64)).to(dtype)
    out = np.trunc(mid)
    reach = np.maximum(np.trunc(mid + rad) - out, out - np.trunc(mid - rad))
    return BallTensor(c, out, np.where(np.isnan(reach), np.inf, reach), dtype)


def to(x: Any, *args: Any, **kwargs: Any) -> Any:
    """x.to(...): only the dtype matters."""
    target = kwargs.get("dtype")
    for arg in args:
        if isinstance(arg, torch.dtype):
            target = arg
        elif type(arg) is BallTensor or isinstance(arg, torch.Tensor):
            target = arg.dtype
    out = x if target is None else cast(x, target)
    return clone(out) if kwargs.get("copy") else out


def type_as(x: Any, other: Any) -> Any:
    """x in the dtype of `other`."""
    return cast(x, other.dtype)


def casting(dtype: torch.dtype) -> Callable[..., Any]:
    """The rule of `x.float()` and its like."""
    return lambda x, *_, **__: cast(x, dtype)


def same(x: Any, *_: Any, **__: Any) -> Any:
    """x itself: `contiguous`, `detach`, `cpu`."""
    return as_ball(CURRENT.get(), x)


def full_like(value: float | None) -> Callable[..., Any]:
    """The rule of `zeros_like` and its like, on a ball."""

    def rule(x: Any, fill: Any = value, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
        c = CURRENT.get()
        kind = dtype or x.dtype
        if not kind.is_floating_point:
            return torch.full(tuple(x.shape), fill, dtype=kind)
        return clone(BallTensor(c, np.full(tuple(x.shape), float(fill), c.real), None, kind))

    return rule


def new_full(value: float | None) -> Callable[..., Any]:
    """The rule of `x.new_zeros(shape)` and its like."""

    def rule(x: Any, *size: Any, fill_value: Any = None, dtype: torch.dtype | None = None, **_: Any) -> Any:
        c = CURRENT.get()
        shape: Any = size
        fill: Any = value if fill_value is None else fill_value
        if size and isinstance(size[0], (tuple, list)):
            shape = size[0]
            if value is None and len(size) > 1:
                fill = size[1]
        out = torch.full(tuple(shape), fill, dtype=dtype or x.dtype)
        return clone(lift(c, out)) if out.dtype.is_floating_point else out

    return rule


def meshed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of functions of several tensors that only move data, such as `meshgrid`."""

    def rule(*tensors: Any, **kwargs: Any) -> Any:
        c = CURRENT.get()
        balls = [as_ball(c, t) for t in (tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors)]
        mids = function(*[bits(b.mid) for b in balls], **kwargs)
        rads = function(*[bits(extent(b.rad, b.mid)) for b in balls], **kwargs)
        return tuple(
            BallTensor(c, array(m, b.mid), array(r, b.mid), b.dtype) for m, r, b in zip(mids, rads, balls, strict=True)
        )

    return rule
