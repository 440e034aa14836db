"""The arguments of a drawn call, read from its JSON form for showing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from strategies import layouts


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument as a reader sees it: `text` in one line; the fields are None where the argument is no tensor."""

    name: str
    text: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    layout: str | None = None
    distribution: str | None = None


def arguments(call: Mapping[str, Any]) -> list[Argument]:
    """The arguments of a call in the order in which the kernel takes them."""
    return [_argument(name, value) for name, value in call.get("arguments", call).items()]


def _argument(name: str, value: Any) -> Argument:
    if not isinstance(value, Mapping) or "shape" not in value:
        return Argument(name, _words(value))
    shape = tuple(value["shape"])
    dtype = str(value.get("dtype", "")).removeprefix("torch.")
    layout, details = _layout(value)
    values = value.get("values")
    parts = [dtype, str(list(shape)), *details, *([layout] if layout else [])]
    if not isinstance(values, Mapping):
        return Argument(name, "  ".join(parts), shape, dtype, layout)
    distribution = str(values.get("distribution") or values.get("pattern", ""))
    return Argument(name, "  ".join([*parts, f"values {_values(values)}"]), shape, dtype, layout, distribution)


def _values(values: Mapping[str, Any]) -> str:
    """Pattern or distribution, seed and pinned elements; the rest of the JSON form restates the op."""
    parts = [str(values.get("distribution") or values.get("pattern", ""))]
    if values.get("seed"):
        parts.append(f"seed={values['seed']}")
    parts += [f"[{index}]={pinned}" for index, pinned in values.get("pins", ())]
    return " ".join(parts)


def _layout(value: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """The kind of the layout, and strides and offset where they tell more than that."""
    layout = value.get("layout")
    if not isinstance(layout, Mapping):
        return (None if layout is None else str(layout)), []
    strides, offset = tuple(layout["strides"]), layout.get("offset", 0)
    kind = layouts.layout(tuple(value["shape"]), strides, offset).kind
    return kind, [] if kind == "contiguous" else [f"strides {list(strides)}", f"offset {offset}"]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        shown = {key: item for key, item in value.items() if item not in (None, [], {})}
        return " ".join(f"{key}={_words(item)}" for key, item in shown.items())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_words(item) for item in value) + "]"
    return str(value)
