"""Descriptions: a tensor as data (shape, dtype, layout, values) that can be built, printed, stored and compared."""

from __future__ import annotations

import base64
import dataclasses
import functools
import math
import zlib
from typing import Any

import torch

from strategies.choices import refuse
from strategies.dtypes import dtype_of, name_of
from strategies.layouts import Layout, Plan, dense_strides, layout
from strategies.values import ZEROS, Values

_LITERAL = 64  # elements that a person still reads in a list; more are written as compressed bytes


@dataclasses.dataclass(frozen=True, slots=True)
class TensorDescription:
    """A tensor by description: `shape`, `dtype`, `layout` (strides and offset in elements), `values`.

    >>> TensorDescription((2, 3), torch.float32, values=Values("ones"))
    float32[2, 3] ones
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    layout: Layout = None  # type: ignore[assignment]
    values: Values = ZEROS

    def __post_init__(self) -> None:
        if self.layout is None:
            object.__setattr__(self, "layout", layout(self.shape, dense_strides(self.shape)))

    def __hash__(self) -> int:
        # calls are hashed for each example: the rest of a layout follows from these and the shape
        return hash((self.shape, self.dtype, self.layout.strides, self.layout.offset, self.values))

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def fill(self) -> torch.Tensor:
        """A new contiguous CPU tensor with the same values."""
        return self.values.fill(self.shape, self.dtype)

    def strided(self, storage: torch.Tensor, base: int = 0) -> torch.Tensor:
        """The view of a one-dimensional `storage` of the same dtype, from its element `base` on, with this layout.

        Nothing is written. The storage must have `base + layout.extent` elements; raises InvalidArgument otherwise.
        """
        if storage.dtype != self.dtype or storage.dim() != 1 or storage.numel() < base + self.layout.extent:
            raise refuse(
                "storage",
                f"{name_of(storage.dtype)}{list(storage.shape)}",
                f"give a one-dimensional {name_of(self.dtype)} tensor of at least {base + self.layout.extent} elements",
            )
        start = storage.storage_offset() + base + self.layout.offset
        return torch.as_strided(storage, self.shape, self.layout.strides, start)

    def place(self, storage: torch.Tensor, base: int = 0) -> torch.Tensor:
        """The view that `strided` gives, filled with the values; nothing else in the storage is written."""
        view = self.strided(storage, base)
        if self.numel:
            values = self.values.shared(self.shape, self.dtype)
            if "expanded" in self.layout.kinds:
                # PyTorch refuses to write to elements that share memory: write each of them once
                for axis, stride in enumerate(self.layout.strides):
                    if stride == 0 and self.shape[axis] > 1:
                        values = values.narrow(axis, 0, 1)
                        view = view.narrow(axis, 0, 1)
            view.copy_(values)
            view = self.strided(storage, base)
        return view

    def build(self, device: str | torch.device = "cpu") -> torch.Tensor:
        """A tensor with exactly this layout in a storage of its own; the gaps between its elements hold NaN or the
        smallest integer, but for storages beyond 2**24 elements, which are not written outside the elements."""
        extent = self.layout.extent
        storage = torch.empty(extent, dtype=self.dtype, device=device)
        if extent != self.numel and extent <= 2**24:
            storage.fill_(_gap(self.dtype))
        return self.place(storage)

    def contiguous(self) -> TensorDescription:
        """The same values in a contiguous layout at the start of the storage."""
        if self.layout.is_contiguous:
            return self
        return dataclasses.replace(self, layout=layout(self.shape, dense_strides(self.shape)))

    def with_layout(self, new: Layout | Plan) -> TensorDescription:
        """The same in another layout, or in that which a plan gives the shape. Along axes with stride 0 the values
        become constant: the first ones are kept."""
        if isinstance(new, Plan):
            new = new.layout(self.shape)
        return dataclasses.replace(self, layout=new, values=repeat(self.values, self.shape, new))

    def with_values(self, values: Values) -> TensorDescription:
        """The same with other values, constant along the axes that have stride 0."""
        return dataclasses.replace(self, values=repeat(values, self.shape, self.layout))

    def __repr__(self) -> str:
        where = "" if self.layout.is_contiguous else f" {self.layout!r}"
        return f"{name_of(self.dtype)}{list(self.shape)} {self.values!r}{where}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # Hypothesis would print every field

    def to_json(self) -> dict[str, Any]:
        """Plain JSON from which `from_json` makes an equal description."""
        record: dict[str, Any] = {
            "shape": list(self.shape),
            "dtype": name_of(self.dtype),
            "values": self.values.to_json(),
        }
        if not self.layout.is_contiguous:
            record["layout"] = self.layout.to_json()
        return record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> TensorDescription:
        """The description of which `record` is the JSON form."""
        shape = tuple(record["shape"])
        lie = record.get("layout")
        return cls(
            shape,
            dtype_of(record["dtype"]),
            layout(shape, tuple(lie["strides"]), lie["offset"]) if lie else layout(shape, dense_strides(shape)),
            Values.from_json(record["values"]),
        )

    def source(self, device: str = "cpu") -> str:
        """A Python expression that rebuilds the tensor, layout included, with nothing but `import torch`; the numbers
        are written out where they are few, else as compressed bytes."""
        cut = tuple(
            1 if stride == 0 and size > 1 else size
            for size, stride in zip(self.shape, self.layout.strides, strict=True)
        )
        values = self.values.shared(self.shape, self.dtype)
        for axis, size in enumerate(cut):
            if size != self.shape[axis]:
                values = values.narrow(axis, 0, 1)
        made = _literal(values, device)
        if self.layout.is_contiguous:
            return made
        storage = f"torch.empty({self.layout.extent}, dtype={self.dtype}, device={device!r})"
        placed = f"{storage}.as_strided({cut}, {self.layout.strides}, {self.layout.offset}).copy_({made})"
        return placed if cut == self.shape else f"{placed}.expand({self.shape})"


@functools.lru_cache(maxsize=64)
def _gap(dtype: torch.dtype) -> float:
    if dtype.is_floating_point:
        return math.nan
    return False if dtype == torch.bool else torch.iinfo(dtype).min


def repeat(values: Values, shape: tuple[int, ...], lie: Layout) -> Values:
    """`values`, constant along the axes that `lie` gives the stride 0."""
    repeated: tuple[int, ...] = ()
    if "expanded" in lie.kinds:
        repeated = tuple(axis for axis, stride in enumerate(lie.strides) if stride == 0 and shape[axis] > 1)
    return values if repeated == values.repeated else dataclasses.replace(values, repeated=repeated)


def _literal(values: torch.Tensor, device: str) -> str:
    shape, dtype = tuple(values.shape), values.dtype
    where = f"dtype={dtype}, device={device!r}"
    if not values.numel():
        return f"torch.empty({shape}, {where})"
    values = values.clone(memory_format=torch.contiguous_format)  # dense strides for size-1 axes too
    flat = values.double() if dtype.is_floating_point else values
    first = flat.reshape(-1)[0].item()
    bits = values.reshape(-1).view(torch.uint8).reshape(values.numel(), -1)
    if values.numel() > 1 and bool((bits == bits[0]).all()):
        return f"torch.full({shape}, {_number(first)}, {where})"
    if values.numel() <= _LITERAL:
        return f"torch.tensor({_nested(flat.tolist())}, {where})"
    packed = base64.b85encode(zlib.compress(bits.numpy().tobytes(), 9)).decode()
    unpack = f"__import__('zlib').decompress(__import__('base64').b85decode({packed!r}))"
    return f"torch.frombuffer(bytearray({unpack}), dtype={dtype}).reshape({shape}).to({device!r})"


def _nested(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_nested(item) for item in value) + "]"
    return _number(value)


def _number(value: float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)
