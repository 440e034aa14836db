"""The tensor-like object that a reference sees: midpoints, radii and the dtype that torch would report."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from conformance.balls.context import CURRENT, Array, Context, note
from conformance.balls.formats import FORMATS

_LEAVES = (
    "the reference leaves torch: {} gives plain numbers, from which no error bound follows. Write that part with torch "
    "operations (torch.special has more functions); one without a rule is estimated, and the verdict names it"
)


class BallTensor:
    """An array of balls that answers like a torch tensor on the CPU.

    `mid` is the exact value in `context.real`, `rad` a bound on |computed - mid| (None: exact). `dtype` is what torch
    would report. `overflows` tells that some elements lie beyond the compute dtype: allowed for a result, undecided
    for anything computed from it. `pending` marks a downcast by the reference that no later operation has used yet:
    if none does, it is the store, which `judge` accounts for. `factors` are the midpoints of which a product is made;
    `begun` gives the ball of a sum, such as a matrix product, that starts with another term.

    It is no `torch.Tensor`, and must not pass for one by a `__class__` property: torch's C argument parser would then
    unpack it as a tensor and crash. So `isinstance(x, torch.Tensor)` and `torch.is_tensor(x)` are False in a reference.
    """

    __slots__ = ("begun", "c", "dtype", "factors", "mid", "origin", "overflows", "pending", "rad")

    def __init__(
        self,
        c: Context,
        mid: Array,
        rad: Array | None,
        dtype: torch.dtype,
        overflows: bool = False,
        pending: bool = False,
        origin: tuple[BallTensor, Callable[[Array], Array]] | None = None,
    ) -> None:
        self.c = c
        # NumPy's arithmetic gives scalars for 0-d arrays, which can be neither viewed nor written to
        self.mid = mid if type(mid) is np.ndarray else np.asarray(mid)
        self.rad = rad if rad is None or type(rad) is np.ndarray else np.asarray(rad)
        self.dtype = dtype
        self.overflows = overflows
        self.pending = pending
        self.origin = origin
        self.factors: tuple[Array, ...] = ()
        self.begun: Callable[[Array, Array | None], BallTensor] | None = None

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return CURRENT.get().rules["__torch_function__"](func, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        rules = self.c.rules
        rule = rules.get(name)
        if rule is None:
            method = getattr(torch.Tensor, name)  # the AttributeError of a typing error is torch's own
            if not callable(method):
                raise AttributeError(f"{name} of a tensor is not available inside a reference that runs on balls")
            return functools.partial(self._unruled, method)
        return functools.partial(self._rule, name, self)

    @property
    def shape(self) -> torch.Size:
        """The shape, as torch has it."""
        return torch.Size(self.mid.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.mid.ndim

    @property
    def device(self) -> torch.device:
        """Always the CPU."""
        return torch.device("cpu")

    @property
    def layout(self) -> torch.layout:
        """Always strided."""
        return torch.strided

    @property
    def requires_grad(self) -> bool:
        """Always False."""
        return False

    @property
    def is_cuda(self) -> bool:
        """Always False."""
        return False

    @property
    def itemsize(self) -> int:
        """Bytes an element of the dtype."""
        return self.dtype.itemsize

    @property
    def T(self) -> BallTensor:  # noqa: N802
        """The transpose, sharing memory."""
        return self.moved(np.transpose)

    @property
    def mT(self) -> BallTensor:  # noqa: N802
        """The transpose of the last two dimensions."""
        return self.moved(lambda a: np.swapaxes(a, -1, -2))

    @property
    def data(self) -> BallTensor:
        """The tensor itself."""
        return self

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of `dim`."""
        return self.shape if dim is None else self.mid.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements."""
        strides = tuple(s // self.mid.itemsize for s in self.mid.strides)
        return strides if dim is None else strides[dim]

    def dim(self) -> int:
        """Number of dimensions."""
        return self.mid.ndim

    def numel(self) -> int:
        """Number of elements."""
        return int(self.mid.size)

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element of the dtype."""
        return self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating-point one."""
        return self.dtype.is_floating_point

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the midpoints lie in C order."""
        return bool(self.mid.flags.c_contiguous)

    def __len__(self) -> int:
        if not self.mid.ndim:
            raise TypeError("len() of a 0-d tensor")
        return int(self.mid.shape[0])

    def __iter__(self) -> Iterator[BallTensor]:
        return (self.moved(lambda a, i=i: a[i, ...]) for i in range(len(self)))  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"BallTensor(mid={self.mid!r}, rad={self.rad!r}, dtype={self.dtype})"

    # values ---------------------------------------------------------------------------------------------------------

    def moved(self, view: Callable[[Array], Array]) -> BallTensor:
        """The result of a data movement that shares memory, such as a slice or a transposition."""
        rad = self.rad
        return BallTensor(
            self.c,
            view(self.mid),
            None if rad is None else view(rad),
            self.dtype,
            self.overflows,
            self.pending,
            (self, view),
        )

    def settle(self) -> BallTensor:
        """Apply a pending downcast: an exact value is rounded, another one may or may not be."""
        if not self.pending:
            return self
        self.pending = False
        form = FORMATS[self.dtype]
        if self.rad is None:
            rounded = torch.from_numpy(self.mid.astype(np.float64)).to(self.dtype).double().numpy()
            self.mid = rounded.astype(self.c.real)
        else:
            reach = np.abs(self.mid) + self.rad
            self.rad = self.rad + form.unit * self.c.power(reach) + form.half_spacing
            if reach.size and not reach.max() < form.largest:
                self.overflows = True
                self.rad = np.where(reach < form.largest, self.rad, np.where(np.isfinite(self.mid), np.inf, self.rad))
        return self

    def own_radius(self) -> Array:
        """The radius as an array that may be written to, shared with the tensor that this one is a view of."""
        if self.rad is None:
            if self.origin is None:
                self.rad = np.zeros(self.mid.shape, self.c.real)
            else:
                base, view = self.origin
                self.rad = view(base.own_radius())
        return self.rad

    def operand(self) -> tuple[Array, Array | None]:
        """Midpoint and radius for use in a further operation: overflown elements promise nothing any more."""
        if self.pending:
            self.settle()
        if self.overflows:
            rad = np.zeros_like(self.mid) if self.rad is None else self.rad
            reach = np.abs(self.mid) + rad
            return self.mid, np.where((reach >= self.c.largest) & np.isfinite(self.mid), np.inf, rad)
        return self.mid, self.rad

    def item(self) -> Any:
        """The only element as a Python number; noted where it is not exact."""
        value = self.mid.item()
        if self.rad is not None and self.rad.any():
            note("item")
        return float(value) if self.dtype.is_floating_point else int(value)

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: a TypeError that says what to write."""
        raise TypeError(_LEAVES.format("x.numpy()"))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(_LEAVES.format("a NumPy call or np.asarray on a tensor"))

    def tolist(self) -> Any:
        """The midpoints of integers as lists, noted where they are not exact; a TypeError for a float dtype."""
        if self.dtype.is_floating_point:
            raise TypeError(_LEAVES.format("x.tolist()"))
        if self.rad is not None and self.rad.any():
            note("tolist")
        return self.mid.astype(np.int64).tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    # operators --------------------------------------------------------------------------------------------------------

    def __floordiv__(self, other: Any) -> Any:
        return self._rule("div", self, other, rounding_mode="floor")

    def __pos__(self) -> BallTensor:
        return self

    def __getitem__(self, index: Any) -> Any:
        return self._rule("__getitem__", self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._rule("__setitem__", self, index, value)

    def _unruled(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():
            return self.c.rules["__torch_function__"](method, (self, *args), kwargs)

    def _rule(self, name: str, *args: Any, **kwargs: Any) -> Any:
        # called outside torch's dispatch: what the rule does on real tensors must not come back through the mode
        with torch._C.DisableTorchFunction():
            return self.c.rules[name](*args, **kwargs)


def _unary(name: str) -> Callable[[BallTensor], Any]:
    def method(self: BallTensor) -> Any:
        return self._rule(name, self)

    return method


def _binary(name: str) -> Callable[[BallTensor, Any], Any]:
    def method(self: BallTensor, other: Any) -> Any:
        return self._rule(name, self, other)

    return method


def _reflected(name: str) -> Callable[[BallTensor, Any], Any]:
    def method(self: BallTensor, other: Any) -> Any:
        return self._rule(name, other, self)

    return method


for _operator, _name in (
    ("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("mod", "remainder"), ("pow", "pow"),
    ("matmul", "matmul"),
):  # fmt: skip
    setattr(BallTensor, f"__{_operator}__", _binary(_name))
    setattr(BallTensor, f"__r{_operator}__", _reflected(_name))
for _operator, _name in (("iadd", "add_"), ("isub", "sub_"), ("imul", "mul_"), ("itruediv", "div_")):
    setattr(BallTensor, f"__{_operator}__", _binary(_name))
for _operator in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(BallTensor, f"__{_operator}__", _binary(_operator))
for _operator in ("neg", "abs"):
    setattr(BallTensor, f"__{_operator}__", _unary(_operator))
# defining equality by setattr leaves hashing by identity in place
BallTensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def operand(c: Context, value: Any) -> tuple[Array, Array | None]:
    """Midpoint and radius of anything that a reference may use as an operand."""
    if type(value) is BallTensor:
        return value.operand()
    if isinstance(value, torch.Tensor):
        return lift(c, value).operand()
    return c.constant(value if isinstance(value, float) else float(value))


def lift(c: Context, tensor: torch.Tensor) -> BallTensor:
    """An exact ball of a real tensor of any dtype."""
    return BallTensor(c, numbers_of(tensor, c.real), None, tensor.dtype)


def numbers_of(tensor: torch.Tensor, real: npt.DTypeLike) -> Array:
    """A copy of the numbers of a CPU tensor of any dtype, in the type `real` of midpoints."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.dtype is torch.float32 or tensor.dtype is torch.float64:
        return tensor.numpy().astype(real)
    out: Array = tensor.double().numpy()
    return out if real == np.float64 else out.astype(real)


def as_ball(c: Context, value: Any) -> BallTensor:
    """`value` as a ball tensor (numbers become 0-d)."""
    if type(value) is BallTensor:
        return value
    if isinstance(value, torch.Tensor):
        return lift(c, value)
    mid, rad = c.constant(value if isinstance(value, float) else float(value))
    return BallTensor(c, mid, rad, torch.get_default_dtype())


def channelwise(vector: Any, axis: int, ndim: int) -> Any:
    """A vector, shaped to run along one axis of a tensor of `ndim` dimensions."""
    shape = [1] * ndim
    shape[axis] = -1
    return vector.reshape(shape)


def result_dtype(*values: Any) -> torch.dtype:
    """The dtype torch gives to an elementwise operation on `values`: numbers and 0-d tensors do not widen."""
    wide: torch.dtype | None = None
    narrow: torch.dtype | None = None
    number = False
    for value in values:
        if type(value) is BallTensor or isinstance(value, torch.Tensor):
            dtype = value.dtype
            if value.ndim:
                wide = dtype if wide is None or wide is dtype else torch.promote_types(wide, dtype)
            else:
                narrow = dtype if narrow is None or narrow is dtype else torch.promote_types(narrow, dtype)
        elif isinstance(value, float):
            number = True
    if wide is None or (narrow is not None and narrow.is_floating_point and not wide.is_floating_point):
        wide = narrow
    if wide is None:
        return torch.get_default_dtype()
    if number and not wide.is_floating_point:
        return torch.get_default_dtype()
    return wide
