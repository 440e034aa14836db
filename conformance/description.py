"""Oracles, lanes and ops in words; of an op, which lanes judge its kernels and how much error their bounds allow."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator

import numpy as np
import torch

from conformance import case, catalog, lanes
from conformance.balls import Ball, bound, undecided
from conformance.balls.context import Array
from conformance.balls.formats import FORMATS
from conformance.explore import explore
from conformance.launch import Settings
from conformance.op import Op, OpError
from conformance.oracles.objection import Objection
from conformance.promises import Promises
from conformance.report.explanations import ORACLES
from conformance.report.explanations import explain as explain_oracle
from conformance.targets import TargetError
from conformance.trial import Trial
from strategies import Call
from strategies.tensors import TensorStrategy

# Calls whose bounds are shown for each dtype: enough to see the size of an error, and no second passes.
_CALLS = 20
_WIDTH = 100
_SHARING = ", ".join(module.__name__.rpartition(".")[2] for module in lanes.LAUNCH)


def explain(name: str) -> str:
    """What `conformance explain` says of an oracle, a lane, an op of conformance.ops, or an Op by `module:name`.

    Raises:
        TargetError: it is none of these.
    """
    if name in ORACLES:
        return explain_oracle(name)
    if name in lanes.LANES:
        return describe_lane(name)
    known = {"oracles": list(ORACLES), "lanes": list(lanes.LANES), "ops": list(catalog.ops())}
    if ":" not in name and name not in known["ops"]:
        listed = "".join(f"\n  {kind:<8} {', '.join(names)}" for kind, names in known.items())
        raise TargetError(
            f"{name!r} is no oracle, lane or op. There are{listed}\nand FILE:NAME stands for an Op of yours"
        )
    return describe(name, catalog.find_op(name))


def describe(target: str, op: Op) -> str:
    """The op in words: arguments, dtypes, what is declared, its reference, lanes and bounds; `target` is its name on
    the command line.

    >>> from conformance.ops import vector_add
    >>> print(describe("vector_add", vector_add).splitlines()[0])
    vector_add(x[rows, cols], y[rows, cols])
    """
    trial = Trial(op, _nothing)
    return "\n".join(
        [
            f"{op.name}({', '.join(_arguments(op))})",
            *_declared(op),
            "\nReference",
            *(f"  {line}" for line in _reference(op)),
            "\nTest ids, a dtype and a lane",
            *_lanes(trial),
            f"\nBounds on the error of an element, over {_CALLS} calls, in units in the last place (ulp)",
            *_bounds(trial),
            f"\nTest a kernel\n  conformance check FILE:KERNEL --op {target}",
        ]
    )


def describe_lane(name: str) -> str:
    """A lane in words: its law, and what judges its launches."""
    lane = lanes.LANES[name]
    judged = f"\n\nOracles that share its launches\n  {_SHARING}" if name == "launch" else ""
    return f"{name}  (a lane: the test ids that end in -{name})\n\nLaw\n  {lane.law}{judged}\n"


def _nothing(*arguments: object) -> None:
    """A kernel that does nothing: the values of a call are wanted, and no result."""


def _arguments(op: Op) -> Iterator[str]:
    axes = op.argument_axes()
    for name in op.names:
        yield f"{name}[{', '.join(axis or '_' for axis in axes[name])}]" if name in axes else name


def _declared(op: Op) -> Iterator[str]:
    fixed = ", ".join(f"{name} {case.dtype_name(dtype)}" for name, dtype in _fixed(op).items())
    yield f"  dtypes       {', '.join(map(case.dtype_name, op.dtypes())) or fixed or 'none'}"
    if op.independent:
        yield f"  independent  {op.independent}"
    if op.mutates:
        yield f"  mutates      {', '.join(op.mutates)}"
    for i, relation in enumerate(op.relations):
        yield f"  {'' if i else 'relations':<11}  {relation.name}: {relation.law}"
    default = Promises()
    names = [name for name in vars(default) if getattr(op.promises, name) != getattr(default, name)]
    for i, name in enumerate(names):
        yield f"  {'' if i else 'promises':<11}  {name}={getattr(op.promises, name)!r}"


def _fixed(op: Op) -> dict[str, torch.dtype]:
    """The dtypes of the tensors that have one."""
    tensors = {name: s.spec.dtypes for name, s in op.inputs.items() if isinstance(s, TensorStrategy)}
    return {name: dtypes[0] for name, dtypes in tensors.items() if len(dtypes) == 1}


def _reference(op: Op) -> list[str]:
    try:
        source = inspect.getsource(op.reference)
    except (OSError, TypeError):  # builtins have no source
        return [repr(op.reference)]
    return inspect.cleandoc(source).splitlines()


def _lanes(trial: Trial) -> Iterator[str]:
    for name, lane in lanes.LANES.items():
        reason = lane.skip(trial)
        text = f"left out: {reason}" if reason else lane.law
        if name == "launch":
            text += f" Judged by {_SHARING}."
        yield textwrap.fill(text, _WIDTH, initial_indent=f"  {name:<16}  ", subsequent_indent=" " * 20)


def _bounds(trial: Trial) -> Iterator[str]:
    """A line for each dtype: the median and the largest bound over the elements of a few calls of the lane `launch`."""
    for dtype in trial.op.dtypes() or (None,):
        try:
            found = _allowed(trial, dtype)
        except OpError as error:
            yield textwrap.fill(str(error), _WIDTH, initial_indent="  none: ", subsequent_indent="  ")
            return
        if found.size:
            median, largest = np.median(found), found.max()
            yield f"  {case.dtype_name(dtype):<10}  median {median:.3g}, largest {largest:.3g}"
        else:
            yield f"  {case.dtype_name(dtype):<10}  none: results are exact"


def _allowed(trial: Trial, dtype: torch.dtype | None) -> Array:
    found: list[Array] = []

    def note(call: Call) -> list[Objection]:
        found.extend(map(_ulps, trial.expected(trial.launch(call, Settings(dry=True))).balls))
        return []

    explore(lanes.LANES["launch"].draw(trial, dtype), note, examples=_CALLS, seed=0)
    return np.concatenate([np.zeros(0), *found])


def _ulps(ball: Ball) -> Array:
    """The bounds on the elements that a ball decides, in ulp of its dtype; none of an exact one."""
    form = FORMATS.get(ball.dtype)
    if form is None or ball.exact is not None:
        return np.zeros(0)
    decided = ~undecided(ball) & np.isfinite(ball.mid)
    mid, allowed = ball.mid[decided], bound(ball)[decided]
    power = np.where(mid == 0, form.emin, np.maximum(np.frexp(mid)[1] - 1, form.emin))
    ulps: Array = np.ldexp(allowed, form.precision - 1 - power).astype(np.float64)
    return ulps
