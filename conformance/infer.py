"""Ops from a reference that says what it takes: by jaxtyping annotations, or by one example call."""

from __future__ import annotations

import inspect
import itertools
import re
import typing
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

import strategies as kst
from conformance.op import Op

# The names of jaxtyping's dtype classes, and the dtypes that we draw for them.
ANNOTATED = {
    "Float": kst.FLOATS,
    "Float16": (torch.float16,),
    "BFloat16": (torch.bfloat16,),
    "Float32": (torch.float32,),
    "Float64": (torch.float64,),
    "Int": kst.INTEGERS,
    "Int32": (torch.int32,),
    "Int64": (torch.int64,),
    "Integer": kst.INTEGERS,
    "Bool": (torch.bool,),
}
_AXIS = re.compile(r"[A-Za-z_]\w*")


def from_annotations(reference: Callable[..., Any], **options: Any) -> Op:
    """The op of a reference whose tensors are annotated as `Float[Tensor, "rows cols"]`; options are those of `Op`.

    Axes of the same name have the same size. Float, int and bool parameters are drawn as scalars.

    Raises:
        InvalidArgument: a parameter without an annotation that is understood; the message names it.
    """
    try:
        hints = typing.get_type_hints(reference)
    except NameError as error:
        raise InvalidArgument(f"the annotations of {_name(reference)} name something unknown: {error}") from error
    inputs = {name: _annotated(reference, name, hints.get(name)) for name in inspect.signature(reference).parameters}
    return Op(reference, inputs, **options)


def from_example(reference: Callable[..., Any], *arguments: Any, **options: Any) -> Op:
    """The op of a reference and the arguments of one call of it; options are those of `Op`.

    Axes of the same size, 1 apart, are taken to be the same axis, since that is what most operations need; where two
    sizes agree by chance, give an example in which they differ. Scalars stay as they are in the example.

    Raises:
        InvalidArgument: the reference does not take the arguments, or one is no tensor or scalar.
    """
    try:
        bound = inspect.signature(reference).bind(*arguments).arguments
    except TypeError as error:
        raise InvalidArgument(f"{_name(reference)} does not take the arguments of the example: {error}") from error
    except ValueError:  # a builtin of torch without a signature
        bound = {f"argument_{number}": value for number, value in enumerate(arguments)}
    names = (f"axis_{number}" for number in itertools.count())
    axes: dict[int, str] = {}
    inputs: dict[str, SearchStrategy[Any]] = {}
    for name, value in bound.items():
        if isinstance(value, torch.Tensor):
            known = [next(names) if size == 1 else axes.setdefault(size, f"size_{size}") for size in value.shape]
            inputs[name] = kst.tensors(*known, dtypes=_like(value.dtype))
        elif value is None or isinstance(value, (bool, int, float, str)):
            inputs[name] = st.just(value)
        else:
            raise InvalidArgument(
                f"the example's {name} is a {type(value).__name__}: give tensors, numbers, strings, booleans or None"
            )
    return Op(reference, inputs, **options)


def _like(dtype: torch.dtype) -> tuple[torch.dtype, ...]:
    """The dtypes to draw for a tensor of this dtype in an example: an op on one float type is meant for all of them."""
    return tuple(kst.FLOATS) if dtype in kst.FLOATS else (dtype,)


def _annotated(reference: Callable[..., Any], name: str, hint: Any) -> SearchStrategy[Any]:
    if hint is bool:
        return kst.flags()
    if hint is float:
        return kst.scales()
    # jaxtyping names its array types `Float[Tensor, "rows cols"]`, and keeps the axes as `dim_str`
    axes = getattr(hint, "dim_str", None)
    kind = str(getattr(hint, "__name__", "")).partition("[")[0]
    if axes is None or kind not in ANNOTATED:
        raise InvalidArgument(
            f"{_name(reference)} says not what {name} is (its annotation is {hint!r}): annotate it as "
            'Float[Tensor, "rows cols"] with jaxtyping, or as float or bool, or write the Op(...) out'
        )
    named = axes.split()
    unknown = [axis for axis in named if not _AXIS.fullmatch(axis)]
    if unknown:
        raise InvalidArgument(
            f"{_name(reference)}: the axes {' '.join(unknown)} of {name} are no plain names: write the Op(...) out, "
            "which has relations between axes"
        )
    return kst.tensors(*named, dtypes=ANNOTATED[kind])


def _name(reference: Callable[..., Any]) -> str:
    return getattr(reference, "__name__", repr(reference))
