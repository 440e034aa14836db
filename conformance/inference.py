"""Inputs of ops from what authors have already: an annotated reference, or one call that works."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

import strategies as kst

# jaxtyping's names of dtypes, and the dtypes that kernels commonly take for each
ANNOTATED: dict[str, tuple[torch.dtype, ...]] = {
    "Float": kst.FLOATS,
    "Float16": (torch.float16,),
    "BFloat16": (torch.bfloat16,),
    "Float32": (torch.float32,),
    "Float64": (torch.float64,),
    "Int": kst.INTEGERS,
    "Integer": kst.INTEGERS,
    "Int8": (torch.int8,),
    "Int16": (torch.int16,),
    "Int32": (torch.int32,),
    "Int64": (torch.int64,),
    "UInt8": (torch.uint8,),
    "Bool": (torch.bool,),
}
_TEXT = re.compile(r"^(?:\w+\.)*(\w+)\[\s*(?:\w+\.)*Tensor\s*,\s*['\"]([^'\"]*)['\"]\s*\]$")
_AXIS = re.compile(r"[A-Za-z_]\w*|\d+")
_NAMED = {kst.FLOATS: "kst.FLOATS", kst.INTEGERS: "kst.INTEGERS", kst.INDICES: "kst.INDICES"}


@dataclasses.dataclass(frozen=True)
class Input:
    """The strategy of one argument, and the text that makes it."""

    strategy: SearchStrategy[Any]
    text: str


def from_annotations(reference: Callable[..., Any]) -> dict[str, Input]:
    """The inputs of a reference that is annotated in the manner of jaxtyping, by name.

    `Float[Tensor, "rows cols"]` is a tensor with named axes; axes of one name have one size. `float` is a factor and
    `bool` a switch. The annotations may be strings: jaxtyping itself need not be installed.

    Raises:
        hypothesis.errors.InvalidArgument: a parameter without an annotation, or with one that says too little.
    """
    annotations = dict(getattr(reference, "__annotations__", {}))
    return {
        name: _annotated(_name(reference), name, annotations.get(name))
        for name in inspect.signature(reference).parameters
    }


def from_example(reference: Callable[..., Any], arguments: Sequence[Any]) -> dict[str, Input]:
    """The inputs that one working call of the reference is an example of, by name.

    Sizes that are equal are taken for one axis, since most operations need that, except 1; where two sizes agree by
    chance, give an example in which they differ. A tensor of one float dtype stands for all of them. Integer tensors
    become indices into the axis that their values fit best, a negative value in them (-100 in the labels of a cross
    entropy) the mark of an entry to ignore. Scalars stay as they are.

    Raises:
        hypothesis.errors.InvalidArgument: the reference does not take the arguments, or one is no tensor or scalar.
    """
    bound = _bind(reference, arguments)
    named = _Axes(bound)
    return {name: _like(name, value, named) for name, value in bound.items()}


def op_text(name: str, reference: str, inputs: Mapping[str, Input]) -> str:
    """The `Op(...)` that an inference stands for, to copy and to refine."""
    listed = "".join(f"        {argument}={given.text},\n" for argument, given in inputs.items())
    variable = re.sub(r"\W", "_", name)
    return f"{variable} = Op(\n    reference={reference},\n    inputs=dict(\n{listed}    ),\n)"


def _annotated(function: str, name: str, annotation: Any) -> Input:
    scalar = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if scalar == "float":
        return Input(kst.scales(), "kst.scales()")
    if scalar == "bool":
        return Input(kst.flags(), "kst.flags()")
    kind, axes = _shape(annotation)
    if kind not in ANNOTATED:
        known = ", ".join(ANNOTATED)
        shown = "it has no annotation" if annotation is None else f"its annotation is {annotation!r}"
        raise InvalidArgument(
            f"{function} does not say what {name} is ({shown}): annotate it as Float[Tensor, 'rows cols'] (or {known}),"
            " as float or bool, or write the Op(...) out"
        )
    odd = [axis for axis in axes if not _AXIS.fullmatch(axis)]
    if odd:
        raise InvalidArgument(
            f"{function}: the axes {' '.join(odd)} of {name} are no plain names: write the Op(...) out, which has "
            "relations between axes"
        )
    sizes = [int(axis) if axis.isdigit() else axis for axis in axes]
    if kind == "Bool":
        return _masks(sizes)
    return _tensors(sizes, ANNOTATED[kind])


def _shape(annotation: Any) -> tuple[str, list[str]]:
    """The dtype class and the axes of an annotation; ("", []) where it gives none."""
    if isinstance(annotation, str):
        match = _TEXT.match(_unquoted(annotation.strip()))
        return (match[1], match[2].split()) if match else ("", [])
    # jaxtyping names its array types `Float[Tensor, 'rows cols']`, and keeps the axes as `dim_str`
    axes = getattr(annotation, "dim_str", None)
    return ("", []) if axes is None else (annotation.__name__.partition("[")[0], axes.split())


def _unquoted(text: str) -> str:
    """The text without the quotes that `from __future__ import annotations` leaves round an annotation in quotes."""
    return str(ast.literal_eval(text)) if text[:1] in ("'", '"') and text[-1:] == text[:1] else text


def _bind(reference: Callable[..., Any], arguments: Sequence[Any]) -> dict[str, Any]:
    """The arguments of the example by the names of the parameters, in the order of the parameters."""
    try:
        signature = inspect.signature(reference)
    except (TypeError, ValueError):  # a builtin of torch without a signature
        return {f"argument{number}": value for number, value in enumerate(arguments)}
    try:
        bound = signature.bind(*arguments)
    except TypeError as error:
        raise InvalidArgument(f"{_name(reference)} does not take the arguments of the example: {error}") from error
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        named.update({f"{name}{i}": v for i, v in enumerate(value)} if several else {name: value})
    return named


class _Axes:
    """The axes of an example: equal sizes are one axis, named after the size; each size of 1 is an axis of its own."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._ones = 0
        self._sizes = [size for v in arguments.values() if isinstance(v, torch.Tensor) for size in v.shape]

    def of(self, value: torch.Tensor) -> list[str | int]:
        """The axes of a tensor."""
        return [self._single() if size == 1 else f"size_{size}" for size in value.shape]

    def _single(self) -> str:
        self._ones += 1
        return f"one_{self._ones}"

    def into(self, value: torch.Tensor, top: int) -> str | int:
        """The axis that entries up to `top` index: the smallest that holds them, one that `value` lacks before others.

        The labels of a cross entropy (rows) index the classes, not the rows, though they may fit either.
        """
        fits = sorted({size for size in self._sizes if size > max(top, 1)}, key=lambda n: (n in value.shape, n))
        return f"size_{fits[0]}" if fits else top + 1


def _like(name: str, value: Any, named: _Axes) -> Input:
    if value is None or isinstance(value, (bool, int, float, str)):
        return Input(st.just(value), f"st.just({value!r})")
    if not isinstance(value, torch.Tensor):
        raise InvalidArgument(
            f"the example's {name} is a {type(value).__name__}: give tensors, numbers, strings, booleans or None"
        )
    axes = named.of(value)
    if value.dtype is torch.bool:
        return _masks(axes)
    if value.is_floating_point():
        return _tensors(axes, kst.FLOATS if value.dtype in kst.FLOATS else (value.dtype,))
    negative = sorted(set(value[value < 0].tolist()))
    if len(negative) > 1 or value.dtype not in kst.INDICES:  # several negative values are data, not a mark
        return _tensors(axes, (value.dtype,))
    top = int(value.max()) if value.numel() else 0
    ignore = negative[0] if negative else None
    into = named.into(value, max(top, 0))
    marked = "" if ignore is None else f"ignore={ignore}, "
    text = f"kst.indices({_shown(axes)}into={into!r}, {marked}dtypes={_dtypes((value.dtype,))})"
    return Input(kst.indices(*axes, into=into, ignore=ignore, dtypes=(value.dtype,)), text)


def _masks(axes: Sequence[str | int]) -> Input:
    return Input(kst.masks(*axes), f"kst.masks({_shown(axes)[:-2]})")


def _tensors(axes: Sequence[str | int], dtypes: tuple[torch.dtype, ...]) -> Input:
    return Input(kst.tensors(*axes, dtypes=dtypes), f"kst.tensors({_shown(axes)}dtypes={_dtypes(dtypes)})")


def _dtypes(dtypes: tuple[torch.dtype, ...]) -> str:
    return _NAMED.get(dtypes) or "(" + ", ".join(map(str, dtypes)) + ("," if len(dtypes) == 1 else "") + ")"


def _shown(axes: Sequence[str | int]) -> str:
    return "".join(f"{axis!r}, " for axis in axes)


def _name(reference: Callable[..., Any]) -> str:
    return getattr(reference, "__name__", repr(reference))
