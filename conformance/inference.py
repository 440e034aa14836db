"""Ops from what authors have already: an annotated reference, or one call that works."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

import strategies as kst

# jaxtyping's names of dtypes, and the dtypes that kernels commonly take for each
_DTYPES: dict[str, tuple[torch.dtype, ...]] = {
    "Float": kst.FLOATS,
    "Float16": (torch.float16,),
    "BFloat16": (torch.bfloat16,),
    "Float32": (torch.float32,),
    "Float64": (torch.float64,),
    "Int": kst.INDICES,
    "Int8": (torch.int8,),
    "Int16": (torch.int16,),
    "Int32": (torch.int32,),
    "Int64": (torch.int64,),
    "UInt8": (torch.uint8,),
    "Bool": (torch.bool,),
}
_ANNOTATION = re.compile(r"^(?:\w+\.)?(\w+)\[\s*(?:\w+\.)?Tensor\s*,\s*['\"]([^'\"]*)['\"]\s*\]$")

Inputs = dict[str, SearchStrategy[Any]]


def from_annotations(reference: Callable[..., Any]) -> tuple[Inputs, dict[str, str]]:
    """The inputs of a reference annotated in the manner of jaxtyping, and the text of each.

    `Float[Tensor, "rows cols"]` is a tensor with named axes (jaxtyping itself need not be installed: the annotation may
    be a string); `float`, `int` and `bool` are scalars.

    Raises:
        hypothesis.errors.InvalidArgument: a parameter without an annotation, or with one that says no shape.
    """
    annotations = dict(getattr(reference, "__annotations__", {}))
    inputs: Inputs = {}
    texts: dict[str, str] = {}
    for name in inspect.signature(reference).parameters:
        if name not in annotations:
            raise InvalidArgument(f"parameter {name!r} has no annotation; write {name}: Float[Tensor, 'rows cols']")
        inputs[name], texts[name] = _annotated(name, annotations[name])
    return inputs, texts


def _annotated(name: str, annotation: Any) -> tuple[SearchStrategy[Any], str]:
    scalar = (
        {"float": float, "int": int, "bool": bool}.get(annotation, annotation) if annotation.__hash__ else annotation
    )
    if scalar is float:
        return kst.scales(), "kst.scales()"
    if scalar is int:
        return st.integers(0, 16), "st.integers(0, 16)"
    if scalar is bool:
        return kst.flags(), "kst.flags()"
    kind, axes = _shape(annotation)
    if kind is None:
        raise InvalidArgument(
            f"the annotation of {name!r}, {annotation!r}, gives no shape; write Float[Tensor, 'rows cols'], float, int "
            "or bool"
        )
    if kind not in _DTYPES:
        raise InvalidArgument(f"{kind} of {name!r} is no dtype that is known here; known are {', '.join(_DTYPES)}")
    return _tensor(axes, _DTYPES[kind])


def _shape(annotation: Any) -> tuple[str | None, list[str | int]]:
    if isinstance(annotation, str):
        match = _ANNOTATION.match(annotation.strip())
        if match is None:
            return None, []
        kind, text = match.groups()
    elif hasattr(annotation, "dim_str"):  # jaxtyping's array types
        kind, text = annotation.__name__.split("[")[0], annotation.dim_str
    else:
        return None, []
    return kind, [int(part) if part.isdigit() else part for part in text.split()]


def from_example(arguments: dict[str, Any]) -> tuple[Inputs, dict[str, str]]:
    """The inputs that one working call is an example of, and the text of each.

    Dimensions of one size in several tensors are taken for one axis, named after the size's first appearance; 1 stays
    1. Integer tensors become indices into the axis that their values fit, scalars stay as they are.

    Raises:
        hypothesis.errors.InvalidArgument: an argument that is neither tensor nor scalar.
    """
    names: dict[int, str] = {}
    inputs: Inputs = {}
    texts: dict[str, str] = {}
    tensors = {n: v for n, v in arguments.items() if isinstance(v, torch.Tensor)}
    for value in tensors.values():
        for size in value.shape:
            if size > 1:
                names.setdefault(size, f"n{len(names)}")
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor):
            axes = [names.get(size, size) for size in value.shape]
            inputs[name], texts[name] = _like(value, axes, names)
        elif value is None or isinstance(value, (bool, int, float, str)):
            inputs[name], texts[name] = st.just(value), f"st.just({value!r})"
        else:
            raise InvalidArgument(f"{name}={value!r} is neither a tensor nor a scalar; kernels take those")
    return inputs, texts


def _like(value: torch.Tensor, axes: list[Any], names: dict[int, str]) -> tuple[SearchStrategy[Any], str]:
    if value.dtype == torch.bool:
        return kst.masks(*axes, dtypes=(torch.bool,)), f"kst.masks({_arguments(axes)}dtypes=(torch.bool,))"
    if value.dtype.is_floating_point:
        return _tensor(axes, (value.dtype,))
    top = int(value.max()) if value.numel() else 0
    fits = [size for size in names if size > top and size not in value.shape] or [s for s in names if s > top]
    into: Any = names[min(fits)] if fits else top + 1
    dtypes = (value.dtype,)
    text = f"kst.indices({_arguments(axes)}into={into!r}, dtypes=({value.dtype},))"
    return kst.indices(*axes, into=into, dtypes=dtypes), text


def _tensor(axes: typing.Sequence[str | int], dtypes: tuple[torch.dtype, ...]) -> tuple[SearchStrategy[Any], str]:
    shown = "kst.FLOATS" if dtypes == kst.FLOATS else "(" + ", ".join(map(str, dtypes)) + ",)"
    return kst.tensors(*axes, dtypes=dtypes), f"kst.tensors({_arguments(axes)}dtypes={shown})"


def _arguments(axes: typing.Sequence[str | int]) -> str:
    return "".join(f"{axis!r}, " for axis in axes)


def op_text(name: str, reference: str, texts: dict[str, str]) -> str:
    """The `Op(...)` that an inference stands for, to copy and to refine."""
    inputs = "".join(f"        {argument}={text},\n" for argument, text in texts.items())
    return f"{name} = Op(\n    reference={reference},\n    inputs=dict(\n{inputs}    ),\n)"
