"""Dataclasses to JSON values and back; standard JSON, so NaN and infinities are strings."""

from __future__ import annotations

import dataclasses
import enum
import math
import numbers
from collections.abc import Mapping
from typing import Any

from conformance.events import Event, Kind, Site
from conformance.failures import Finding, ValueEvidence
from conformance.observation import Geometry


def encode(value: Any) -> Any:
    """The value as JSON values: dataclasses are objects, tuples arrays, enums their values.

    Raises TypeError for anything else, by name, so that nothing is written that cannot be read.

    >>> encode((1, float("inf")))
    [1, 'inf']
    """
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Geometry):  # a meta-parameter may be a dtype or a function, which is only shown
        meta = [[name, item if isinstance(item, (bool, int, float, str)) else str(item)] for name, item in value.meta]
        return {"kernel": value.kernel, "grid": list(value.grid), "block": list(value.block), "meta": meta}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)  # torch's version is a subclass, which execnet refuses to send
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else str(float(value))
    raise TypeError(f"{type(value).__name__} has no JSON form: {value!r}")


def number(value: float | str) -> float:
    """The float that `encode` wrote.

    >>> number("-inf")
    -inf
    """
    return float(value)


def decode_finding(data: Mapping[str, Any]) -> Finding:
    """The finding that `encode` wrote."""
    value = data.get("value")
    return Finding(
        oracle=data["oracle"],
        law=data["law"],
        op=data["op"],
        kernel=data["kernel"],
        summary=data["summary"],
        call=dict(data["call"]),
        script=data.get("script", ""),
        events=tuple(_decode_event(event) for event in data.get("events", [])),
        value=None if value is None else _decode_value(value),
        notes=tuple(data.get("notes", [])),
        runtime=data.get("runtime", ""),
        geometry=tuple(_decode_geometry(geometry) for geometry in data.get("geometry", [])),
        options=tuple(data.get("options", [])),
    )


def _decode_event(data: Mapping[str, Any]) -> Event:
    return Event(
        kind=Kind(data["kind"]),
        argument=data["argument"],
        detail=data["detail"],
        site=_decode_site(data.get("site")),
        other_site=_decode_site(data.get("other_site")),
        index=None if data.get("index") is None else tuple(data["index"]),
        offset=data.get("offset"),
        programs=_triples(data.get("programs", [])),
        threads=_triples(data.get("threads", [])),
        count=data.get("count", 1),
        kernel=data.get("kernel", ""),
    )


def _decode_site(data: Mapping[str, Any] | None) -> Site | None:
    return None if data is None else Site(data["file"], data["line"], data.get("source", ""))


def _triples(data: list[list[int]]) -> tuple[tuple[int, int, int], ...]:
    return tuple((x, y, z) for x, y, z in data)


def _decode_value(data: Mapping[str, Any]) -> ValueEvidence:
    fields = dict(data)
    for name in ("index", "shape", "wrong"):
        fields[name] = tuple(data.get(name, []))
    for name in ("got", "exact", "low", "high", "ratio", "ulp"):
        fields[name] = number(data[name])
    return ValueEvidence(**fields)


def _decode_geometry(data: Mapping[str, Any]) -> Geometry:
    x, y, z = data["grid"]
    meta = tuple((name, value) for name, value in data.get("meta", []))
    return Geometry(data["kernel"], (x, y, z), tuple(data.get("block", [])), meta)
