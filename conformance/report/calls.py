"""What findings say of their calls: the arguments, read from their JSON form for showing, and the fault they share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from conformance.failures import Finding
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


def fault(finding: Finding) -> tuple[str, ...]:
    """What findings of one fault share: the oracle and the lines of the kernel, or the output that is wrong."""
    sites = sorted({str(event.site) for event in finding.events if event.site is not None})
    output = "" if finding.value is None else str(finding.value.output)
    return (finding.oracle, output, *sites)
