"""An op: what an operation *is*, stated once, for every kernel that claims to compute it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

from conformance import growth, inference
from conformance.promises import Promises
from conformance.regions import Role
from strategies import LAYOUTS, WRITABLE, Axis, Call, TensorDescription, calls, sizes
from strategies.calls import CallStrategy
from strategies.tensors import TensorStrategy

if TYPE_CHECKING:
    from conformance.relations import Relation


class OpError(Exception):
    """The op itself is wrong: its reference raises, or does not fit its inputs. The message says what to change."""


class Op:
    """The contract of an operation.

    Args:
        reference: an ordinary torch function that takes the inputs in their order and returns a tensor, or a tuple of
            tensors: first the new values of mutated arguments, then what the kernel returns.
        inputs: argument name to strategy, in the order in which kernels take them: `kst.tensors("rows", "cols")`,
            `kst.indices(...)`, or any Hypothesis strategy for scalars.
        axes: axis name to relation (`kst.even()`, `kst.multiple_of("heads")`, ...).
        independent: the name of an axis whose slices do not influence each other; unlocks `batch_invariance`.
        mutates: the names of arguments that kernels change in place; one that the reference does not take (`out`) is
            only written.
        relations: metamorphic relations that hold for the op, from `conformance.relations`.
        exact: whether sums, products and copies of small integers, and nothing else, make up the op, so that results
            on small-integer data are bitwise right in any order; unlocks `exact`.
        promises: the promises of its kernels unless they say otherwise.
        name: how reports call it; by default the name of the reference.

    Raises:
        hypothesis.errors.InvalidArgument: an argument that does not fit the others; the message names it.

    >>> import torch, strategies as kst
    >>> softmax = Op(lambda x: torch.softmax(x, -1), dict(x=kst.tensors("rows", "cols")), name="softmax")
    >>> softmax.names
    ('x',)
    """

    def __init__(
        self,
        reference: Callable[..., Any],
        inputs: Mapping[str, SearchStrategy[Any]],
        *,
        axes: Mapping[str, Axis] | None = None,
        independent: str | None = None,
        mutates: str | Sequence[str] = (),
        relations: Sequence[Relation] = (),
        exact: bool = False,
        promises: Promises | None = None,
        name: str | None = None,
        max_elements: int | None = None,
    ) -> None:
        if not callable(reference):
            raise InvalidArgument(
                f"reference={reference!r} is not callable: give the torch function that defines the op"
            )
        if not inputs:
            raise InvalidArgument(
                "inputs is empty: name each argument, as in inputs=dict(x=kst.tensors('rows', 'cols'))"
            )
        for argument, strategy in inputs.items():
            if not isinstance(strategy, SearchStrategy):
                raise InvalidArgument(
                    f"inputs[{argument!r}]={strategy!r} is no strategy: use kst.tensors(...), kst.indices(...), or a "
                    "Hypothesis strategy such as st.just(1.0) for a scalar"
                )
        self.reference = reference
        self.inputs = dict(inputs)
        self.axes = dict(axes or {})
        self.names = tuple(inputs)
        self.mutates = (mutates,) if isinstance(mutates, str) else tuple(mutates)
        self.independent = independent
        self.relations = tuple(relations)
        self.exact = exact
        self.promises = promises or Promises()
        self.max_elements = max_elements
        self.name = name or _name_of(reference)
        self.text: str | None = None
        for argument in self.mutates:
            if argument not in self.inputs:
                raise InvalidArgument(f"mutates={argument!r} is no argument; the arguments are {', '.join(self.names)}")
        self.reference_names = _reference_names(reference, self.names, self.mutates)
        known = self.axis_names()
        if independent is not None and independent not in known:
            raise InvalidArgument(f"independent={independent!r} is no axis; the axes are {', '.join(sorted(known))}")
        for relation in self.relations:
            for unknown in {*relation.arguments} - {*self.names}:
                raise InvalidArgument(f"the {relation.name}: {unknown!r} is no argument of {self.name}")
            for unknown in {*relation.axes} - known:
                raise InvalidArgument(f"the {relation.name}: no argument of {self.name} has an axis {unknown!r}")
        self.calls(long=())  # axes and descriptions are validated at once

    def __repr__(self) -> str:
        return f"Op({self.name}: {', '.join(self.names)})"

    @classmethod
    def from_annotations(cls, reference: Callable[..., Any], **options: Any) -> Op:
        """The op of a reference whose parameters are annotated, `x: Float[Tensor, "rows cols"]`.

        `options` are those of `Op`; `text` then is the `Op(...)` that it stands for, to copy and to refine.

        Raises:
            hypothesis.errors.InvalidArgument: a parameter whose annotation says too little; the message names it.

        >>> def scale(x: "Float[Tensor, 'rows cols']", factor: float):
        ...     return x * factor
        >>> print(Op.from_annotations(scale).text)
        scale = Op(
            reference=scale,
            inputs=dict(
                x=kst.tensors('rows', 'cols', dtypes=kst.FLOATS),
                factor=kst.scales(),
            ),
        )
        """
        return cls._inferred(reference, inference.from_annotations(reference), options)

    @classmethod
    def from_example(cls, reference: Callable[..., Any], *arguments: Any, **options: Any) -> Op:
        """The op that one working call of the reference is an example of.

        Equal sizes are one axis, a float tensor stands for every float dtype, an integer tensor indexes the axis that
        its values fit, a bool tensor is a mask, scalars stay as they are. `options` and `text` as in
        `from_annotations`.

        Raises:
            hypothesis.errors.InvalidArgument: the reference does not take the arguments, or one is no tensor or scalar.
        """
        return cls._inferred(reference, inference.from_example(reference, arguments), options)

    @classmethod
    def _inferred(
        cls, reference: Callable[..., Any], inputs: Mapping[str, inference.Input], options: Mapping[str, Any]
    ) -> Op:
        op = cls(reference, {name: given.strategy for name, given in inputs.items()}, **options)
        op.text = inference.op_text(op.name, _name_of(reference), inputs)
        return op

    def sized(self, *, max_elements: int | None = None, **axes: Axis) -> Op:
        """The same op with other sizes of axes and of the largest tensor: a kernel may take another path for them.

        >>> import strategies as kst
        >>> from conformance.ops import softmax
        >>> softmax.sized(cols=kst.sizes(min=4000, max=8300), max_elements=2 * 8300).axes
        {'cols': sizes(4000..8300)}
        """
        return self._varied(self.inputs, {**self.axes, **axes}, self.independent, max_elements or self.max_elements)

    def leading(self, *axes: str) -> Op:
        """The same op over tensors of another rank: `axes`, of any number, in place of the independent axis.

        For kernels of any rank, whose reference is one of any rank too. The first of `axes` is the independent one; all
        but the last have at least two entries, since a kernel may take an axis of one for none, and of none for an end.

        Raises:
            hypothesis.errors.InvalidArgument: the op has no independent axis.

        >>> from conformance.ops import softmax
        >>> softmax.leading("batch", "heads", "rows").argument_axes()
        {'x': ('batch', 'heads', 'rows', 'cols')}
        """
        if self.independent is None:
            raise InvalidArgument(
                f"{self.name} has no independent axis, in place of which the leading axes could stand"
            )
        inputs = dict(self.inputs)
        for name, own in self.argument_axes().items():
            if self.independent in own:
                strategy = inputs[name]
                assert isinstance(strategy, TensorStrategy)
                dims = [d.text for d in strategy.spec.axes]
                at = own.index(self.independent)
                inputs[name] = strategy.with_axes(*dims[:at], *axes, *dims[at + 1 :])
        full = {name: sizes(min=2) for name in axes[:-1]}
        return self._varied(inputs, {**full, **self.axes}, axes[0] if axes else None, self.max_elements)

    def _varied(
        self,
        inputs: Mapping[str, SearchStrategy[Any]],
        axes: Mapping[str, Axis],
        independent: str | None,
        max_elements: int | None,
    ) -> Op:
        known = {d.text for s in inputs.values() if isinstance(s, TensorStrategy) for d in s.spec.axes}
        return Op(
            self.reference,
            inputs,
            axes=axes,
            independent=independent,
            mutates=self.mutates,
            relations=[relation for relation in self.relations if {*relation.axes} <= known],
            exact=self.exact,
            promises=self.promises,
            name=self.name,
            max_elements=max_elements,
        )

    def axis_names(self) -> frozenset[str]:
        """The names of all axes of the op."""
        return frozenset(n for names in self.argument_axes().values() for n in names if n is not None)

    def argument_axes(self) -> dict[str, tuple[str | None, ...]]:
        """For each tensor argument the axis names of its dimensions; None for a size that is no plain name."""
        return {
            name: tuple(d.text if d.plain else None for d in strategy.spec.axes)
            for name, strategy in self.inputs.items()
            if isinstance(strategy, TensorStrategy)
        }

    def role(self, argument: str) -> Role:
        """What kernels may do with the argument."""
        if argument not in self.mutates:
            return Role.IN
        return Role.INOUT if argument in self.reference_names else Role.OUT

    def dtypes(self) -> tuple[torch.dtype, ...]:
        """The dtypes that the op's main group of tensors ranges over; empty if every dtype is fixed."""
        for strategy in self.inputs.values():
            if isinstance(strategy, TensorStrategy):
                return strategy.spec.dtypes if len(strategy.spec.dtypes) > 1 else ()
        return ()

    def conformance(
        self,
        kernel: Callable[..., Any],
        *,
        oracles: Sequence[str] | None = None,
        dtypes: Sequence[torch.dtype] | None = None,
        xfail: Mapping[str, str] | None = None,
        meta: Mapping[str, Any] | None = None,
        **promises: Any,
    ) -> Callable[..., None]:
        """An ordinary pytest function that tests the kernel, with one id for each dtype and lane.

        Assign it to a module-level name that starts with `test_`. `oracles` and `dtypes` narrow the ids; `xfail` maps a
        lane (`layouts`) or an id (`float16-layouts`) to the reason why it is known to fail, strictly: one that passes
        is an error; `meta` are keyword arguments for the kernel; everything else is a promise (`conformance.Promises`),
        or `promises=Promises(...)` in place of the op's.

        Raises:
            hypothesis.errors.InvalidArgument: at once, for what does not fit.
        """
        from conformance.suite import conformance_test  # the suite needs pytest, an op does not

        return conformance_test(self, kernel, oracles=oracles, dtypes=dtypes, xfail=xfail, meta=meta, promises=promises)

    def agreement(
        self,
        kernel: Callable[..., Any],
        other: Callable[..., Any],
        *,
        dtypes: Sequence[torch.dtype] | None = None,
        **promises: Any,
    ) -> Callable[..., None]:
        """A pytest function that two kernels of the op, a Triton and a CUDA twin, agree; one id for each dtype."""
        from conformance.suite import agreement_test

        return agreement_test(self, kernel, other, dtypes=dtypes, promises=promises)

    def calls(
        self, *, limits: Mapping[str, int] | None = None, replaced: Mapping[str, Axis] | None = None, **options: Any
    ) -> SearchStrategy[Call]:
        """A strategy of calls, with axes no longer than `limits` and others `replaced`; other options are those of
        `strategies.calls`."""
        if self.max_elements is not None:
            options.setdefault("max_elements", self.max_elements)
        layouts = options.get("layouts")
        if self.mutates and not isinstance(layouts, Mapping):
            # torch refuses to write to elements that share memory, and so may a kernel
            allowed = tuple(layouts or LAYOUTS)
            writable = tuple(kind for kind in allowed if kind in WRITABLE)
            options["layouts"] = {n: writable if n in self.mutates else allowed for n in self.argument_axes()}
        axes = {**self.axes, **(replaced or {})}
        for name, largest in (limits or {}).items():
            if name not in self.axis_names():
                raise InvalidArgument(f"limits names {name!r}, which is no axis of {self.name}")
            axes[name] = axes.get(name, sizes()).within(largest)
        if "long" not in options:
            options["long"] = self.long_axes
        return calls(self.inputs, axes=axes, **options)

    @functools.cached_property
    def long_axes(self) -> tuple[str, ...]:
        """The axes that may be long: those along which the reference, and so the search for a bound, stays fast."""
        strategy = calls(self.inputs, axes=self.axes, max_elements=self.max_elements)
        assert isinstance(strategy, CallStrategy)
        return tuple(name for name in strategy.long if growth.is_linear(self, name))

    def reference_arguments(self, call: Call, values: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """The arguments of the reference: the logical values of tensors (on the CPU), scalars as drawn."""
        taken = dict(call.arguments)
        return {
            name: values[name] if isinstance(taken[name], TensorDescription) else taken[name]
            for name in self.reference_names
        }


def _name_of(reference: Callable[..., Any]) -> str:
    name = getattr(reference, "__name__", type(reference).__name__)
    return "op" if name == "<lambda>" else name


def _reference_names(
    reference: Callable[..., Any], names: tuple[str, ...], mutates: tuple[str, ...]
) -> tuple[str, ...]:
    """The arguments that the reference takes: all, or all but the mutated ones that it has no parameter for."""
    try:
        signature = inspect.signature(reference)
    except (TypeError, ValueError):
        return names
    error = _binding_error(signature, names)
    if error is None:
        return names
    read = tuple(n for n in names if n not in mutates or n in signature.parameters)
    if read != names and _binding_error(signature, read) is None:
        return read
    raise InvalidArgument(
        f"the reference {_name_of(reference)}{signature} cannot be called with the inputs {', '.join(names)}: {error}"
    )


def _binding_error(signature: inspect.Signature, names: tuple[str, ...]) -> str | None:
    """Why a function cannot be called with those arguments, None if it can."""
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    by_keyword = {n for n in names if n in signature.parameters and signature.parameters[n].kind is keyword_only}
    try:
        signature.bind(*[n for n in names if n not in by_keyword], **dict.fromkeys(by_keyword))
    except TypeError as error:
        return str(error)
    return None


def validate_kernel(op: Op, kernel: Callable[..., Any]) -> None:
    """Check when a test is made, not when it runs, that a kernel can take the op's arguments.

    Raises:
        hypothesis.errors.InvalidArgument: the kernel is not callable, or its parameters do not fit the op's inputs.
    """
    if not callable(kernel):
        raise InvalidArgument(f"kernel={kernel!r} is not callable: give the function that launches the kernel")
    try:
        signature = inspect.signature(kernel)
    except (TypeError, ValueError):
        return
    error = _binding_error(signature, op.names)
    if error is not None:
        raise InvalidArgument(
            f"the kernel {_name_of(kernel)}{signature} cannot take the arguments of {op.name} "
            f"({', '.join(op.names)}): {error}"
        )
