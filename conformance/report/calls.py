"""The arguments of a drawn call, read from its JSON form for showing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from strategies import Call, TensorDescription


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument as a reader sees it: `text` in one line; `shape` and the rest are None where it is no tensor."""

    name: str
    text: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    layout: str | None = None


def arguments(call: Mapping[str, Any]) -> list[Argument]:
    """The arguments of a call in the order in which the kernel takes them."""
    return [_argument(name, value) for name, value in Call.from_json(dict(call)).arguments] if call else []


def _argument(name: str, value: Any) -> Argument:
    if not isinstance(value, TensorDescription):
        return Argument(name, repr(value))
    dtype, layout = str(value.dtype).removeprefix("torch."), value.layout
    where = [] if layout.is_contiguous else [f"strides {list(layout.strides)}", f"offset {layout.offset}"]
    text = "  ".join([f"{dtype}{list(value.shape)}", *where, layout.kind, f"values {value.values!r}"])
    return Argument(name, text, value.shape, dtype, layout.kind)
