"""Calls: the arguments of one launch, drawn together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from hypothesis.strategies import SearchStrategy

from strategies import fills
from strategies.axes import Axis, Frame, dimension
from strategies.choices import Data, TableStrategy, entry, integer, refuse, weighted
from strategies.descriptions import TensorDescription
from strategies.dtypes import Dtypes, name_of
from strategies.layouts import LAYOUTS, Plan, check_layouts, plans
from strategies.tensors import TensorSpec, TensorStrategy, check_dtypes, check_max_elements, describe
from strategies.values import LANES, check_specials, number_from_json, number_to_json

Scalar: TypeAlias = bool | int | float | str | None
Argument: TypeAlias = TensorDescription | Scalar


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Call:
    """The arguments of a launch by description, in the order in which a kernel takes them, and the axes' sizes."""

    arguments: tuple[tuple[str, Argument], ...]
    axes: tuple[tuple[str, int], ...] = ()

    def __getitem__(self, name: str) -> Argument:
        for known, value in self.arguments:
            if known == name:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.arguments)

    def __len__(self) -> int:
        return len(self.arguments)

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each named axis."""
        return dict(self.axes)

    @property
    def tensors(self) -> dict[str, TensorDescription]:
        """The arguments that are tensors, by name."""
        return {name: value for name, value in self.arguments if isinstance(value, TensorDescription)}

    def prepare(self) -> None:
        """Make the values of the tensors now and keep those of the last few calls, for whoever asks for them next."""
        for tensor in self.tensors.values():
            tensor.values.prepare(tensor.shape, tensor.dtype)

    def build(self, device: str | torch.device = "cpu") -> dict[str, Any]:
        """The arguments by name, each tensor built in a storage of its own."""
        return {
            name: value.build(device) if isinstance(value, TensorDescription) else value
            for name, value in self.arguments
        }

    def replace(self, name: str, value: Argument) -> Call:
        """The same call with another value for one argument. Raises KeyError for an unknown name."""
        self[name]
        return dataclasses.replace(
            self, arguments=tuple((known, value if known == name else old) for known, old in self.arguments)
        )

    def contiguous(self) -> Call:
        """The same call with every tensor in a contiguous layout."""
        arguments = tuple(
            (name, value.contiguous() if isinstance(value, TensorDescription) else value)
            for name, value in self.arguments
        )
        return dataclasses.replace(self, arguments=arguments)

    def __repr__(self) -> str:
        return "Call(" + ", ".join(f"{name}={value!r}" for name, value in self.arguments) + ")"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # Hypothesis would print every field

    def to_json(self) -> dict[str, Any]:
        """Plain JSON from which `from_json` makes an equal call."""
        return {"arguments": [[name, _to_json(value)] for name, value in self.arguments], "axes": dict(self.axes)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Call:
        """The call of which `record` is the JSON form."""
        return cls(
            tuple((name, _from_json(value)) for name, value in record["arguments"]),
            tuple(record.get("axes", {}).items()),
        )

    def source(self, device: str = "cpu") -> str:
        """Python lines that assign every argument to its name; they need `import torch` and nothing else."""
        return "\n".join(
            f"{name} = {value.source(device) if isinstance(value, TensorDescription) else _scalar(value)}"
            for name, value in self.arguments
        )


def _scalar(value: Scalar) -> str:
    return f"float('{value}')" if isinstance(value, float) and value - value != 0 else repr(value)


def _to_json(value: Argument) -> Any:
    if isinstance(value, TensorDescription):
        return {"tensor": value.to_json()}
    if isinstance(value, float):
        return {"float": number_to_json(value)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"a scalar argument of a call is a bool, int, float, str or None, not {type(value).__name__}")


def _from_json(value: Any) -> Argument:
    if isinstance(value, dict):
        if "tensor" in value:
            return TensorDescription.from_json(value["tensor"])
        return float(number_from_json(value["float"]))
    return value  # type: ignore[no-any-return]


class Layouts:
    """The layouts of all tensors of a call: three in ten calls wholly simple (what fails there is not about layouts),
    three in ten with one tensor that is not, the others in any combination.

    How many are not simple is drawn first, so that a counterexample shrinks to the tensor whose layout matters.
    """

    def __init__(self, kinds: tuple[tuple[int, tuple[str, ...]], ...]) -> None:
        self._tables = [plans(rank, names) for rank, names in kinds]
        self._simple = tuple(table[0] for table in self._tables)
        self._others = [tuple(plan for plan in table if plan != table[0]) for table in self._tables]
        single = [position for position, table in enumerate(self._others) if table]
        mixed = 4 * len(single) if len(single) > 1 else 0
        self._turns = weighted([(-1, 3 * len(single) or 1), *((position, 3) for position in single), (-2, mixed)])

    def draw(self, data: Data) -> tuple[Plan, ...]:
        """A plan for each tensor."""
        turn = entry(data, self._turns)
        if turn == -2:
            return tuple(entry(data, table) for table in self._tables)
        if turn == -1:
            return self._simple
        return (*self._simple[:turn], entry(data, self._others[turn]), *self._simple[turn + 1 :])


class CallStrategy(TableStrategy[Call]):
    """A Hypothesis strategy of calls; made by `calls`."""

    def __init__(
        self,
        inputs: dict[str, SearchStrategy[Any]],
        axes: Mapping[str, Axis],
        groups: dict[str, tuple[object, Dtypes]],
        layouts: Mapping[str, tuple[str, ...]],
        lane: str,
        specials: tuple[str, ...],
        max_elements: int | None,
        long: frozenset[str] | None,
    ) -> None:
        super().__init__()
        self._inputs = inputs
        self._specs = {name: s.spec for name, s in inputs.items() if isinstance(s, TensorStrategy)}
        chosen = dict(groups.values())  # one drawn type for each group
        self._dtypes = tuple(chosen.values())
        self._group = {name: list(chosen).index(key) for name, (key, _) in groups.items()}
        self._lane = lane
        self._specials = specials
        shapes = tuple(spec.axes for spec in self._specs.values())
        into = tuple(spec.into for spec in self._specs.values() if isinstance(spec.into, str))
        needed = frozenset(name for spec in self._specs.values() for name in spec.needed)
        self._frame = Frame((*shapes, *((dimension(name),) for name in into)), axes, max_elements, needed, long)
        self._layouts = Layouts(tuple((len(spec.axes), layouts[name]) for name, spec in self._specs.items()))

    def __repr__(self) -> str:
        return f"calls({', '.join(self._inputs)})"

    @property
    def long(self) -> tuple[str, ...]:
        """The axes that are long in some calls."""
        return self._frame.long

    @property
    def tables_alone(self) -> bool:
        """Whether every scalar comes from a table."""
        return all(isinstance(s, TableStrategy) and s.tables_alone for s in self._inputs.values())

    def do_draw(self, data: Data) -> Call:
        """A call."""
        sizes = self._frame.draw(data)
        dtypes = [entry(data, choices) for choices in self._dtypes]
        layouts = iter(self._layouts.draw(data))
        seed: int | None = None
        arguments: list[tuple[str, Argument]] = []
        for position, (name, strategy) in enumerate(self._inputs.items()):
            spec = self._specs.get(name)
            if spec is None:
                arguments.append((name, data.draw(strategy)))
                continue
            plan = next(layouts)
            if spec.optional and integer(data, 0, 3) == 0:
                arguments.append((name, None))
                continue
            shape = tuple([sizes[dim.text] if dim.plain else dim.size(sizes) for dim in spec.axes])
            dtype = dtypes[self._group[name]]
            # the call has one seed, drawn where the first tensor needs it, from which each has its own
            given = None if seed is None else (seed + 40503 * position) % 2**32
            made = describe(data, spec, shape, dtype, plan, sizes, self._lane, self._specials, given)
            values = made.values
            if seed is None and values.pattern in ("random", "exact", "special") and values.distribution != "causal":
                seed = values.seed - 40503 * position
            arguments.append((name, made))
        return Call(tuple(arguments), tuple(sizes.items()))


def calls(
    inputs: Mapping[str, SearchStrategy[Any]],
    *,
    axes: Mapping[str, Axis] | None = None,
    dtype: torch.dtype | None = None,
    lane: str = "numeric",
    layouts: tuple[str, ...] | Mapping[str, tuple[str, ...]] | None = None,
    special: tuple[str, ...] = fills.SPECIALS,
    max_elements: int | None = None,
    long: Iterable[str] | None = None,
) -> SearchStrategy[Call]:
    """A strategy of calls with these arguments, in this order.

    * `inputs`: argument name to strategy; tensors as `kst.tensors` and its kin describe them, scalars by any strategy.
    * `axes`: relations between the named axes (`kst.even()`, `kst.multiple_of("k")`, ...); others are `kst.sizes()`.
    * `dtype`: the element type of the first group of tensors that takes it; drawn where it is not given.
    * `lane`: "numeric", "exact" (small integers on which sums are exact) or "special" (NaN, infinities and the like).
    * `layouts`: what layouts are allowed, for all tensors or by argument, within what each tensor allows.
    * `special`: names of `kst.SPECIALS` for the special lane.
    * `max_elements`: the element budget of each tensor; None is 4,096, and more in a call with
      a long axis.
    * `long`: the axes that, now and then, end next to 2,048, 4,096 or a larger power of two, where blocks are capped;
      by default all that have no `max` below it.

    Raises InvalidArgument at once for a name that is unknown, a circle of axes, or a wrong value.
    """
    if not isinstance(inputs, Mapping) or not inputs:
        raise refuse("inputs", inputs, "give a dict from argument name to strategy")
    for name, strategy in inputs.items():
        if not isinstance(strategy, SearchStrategy):
            raise refuse(
                f"inputs[{name!r}]", strategy, "give a strategy; for a constant use hypothesis.strategies.just(...)"
            )
    axes = dict(axes or {})
    for name, axis in axes.items():
        if not isinstance(axis, Axis):
            raise refuse(f"axes[{name!r}]", axis, "give a relation such as kst.even() or kst.fixed(64)")
    if lane not in LANES:
        raise refuse("lane", lane, f"there are {', '.join(LANES)}")
    specs = {name: s.spec for name, s in inputs.items() if isinstance(s, TensorStrategy)}
    known = {axis for spec in specs.values() for dim in spec.axes for axis in dim.names} | set(axes)
    for axis_name in long or ():
        if axis_name not in known:
            raise refuse(
                "long", axis_name, f"no argument has an axis of that name; there are {', '.join(sorted(known))}"
            )
    return CallStrategy(
        dict(inputs),
        axes,
        _dtype_groups(specs, dtype),
        _restricted(specs, layouts),
        lane,
        check_specials(special),
        check_max_elements(max_elements),
        None if long is None else frozenset(long),
    )


def _dtype_groups(specs: Mapping[str, TensorSpec], dtype: torch.dtype | None) -> dict[str, tuple[object, Dtypes]]:
    groups: dict[str, tuple[object, Dtypes]] = {}
    for name, spec in specs.items():
        groups[name] = ((spec.dtype_group, spec.dtypes), spec.dtypes)
    if dtype is not None:
        check_dtypes("dtype", (dtype,))
        main = next((group for group in groups.values() if dtype in group[1]), None)
        if main is None:
            known = "; ".join(f"{name}: {', '.join(map(name_of, group[1]))}" for name, group in groups.items())
            raise refuse("dtype", name_of(dtype), f"no tensor argument takes it ({known or 'there is none'})")
        for name, (key, _) in groups.items():
            if key == main[0]:
                groups[name] = (key, (dtype,))
    return groups


def _restricted(
    specs: Mapping[str, TensorSpec], layouts: tuple[str, ...] | Mapping[str, tuple[str, ...]] | None
) -> dict[str, tuple[str, ...]]:
    if isinstance(layouts, Mapping):
        for name in layouts:
            if name not in specs:
                raise refuse("layouts", name, f"no tensor argument is called so; there are {', '.join(specs)}")
    restricted = {}
    for name, spec in specs.items():
        allowed = layouts.get(name, LAYOUTS) if isinstance(layouts, Mapping) else layouts or LAYOUTS
        allowed = check_layouts("layouts", allowed)
        restricted[name] = tuple(kind for kind in spec.layouts if kind in allowed)
        if not restricted[name]:
            raise refuse("layouts", allowed, f"{name} takes none of them, only {', '.join(spec.layouts)}")
    return restricted
