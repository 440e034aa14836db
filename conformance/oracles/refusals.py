"""The oracle `refusals`."""

from __future__ import annotations

import dataclasses
import functools

import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.failures import RefusalsFailure
from conformance.launch import Launch
from conformance.oracles.objection import Objection
from conformance.trial import Trial
from strategies import LAYOUTS, Call, TensorDescription, fixed

LAW = "What the kernel does not support is refused with a clear error before any launch, never computed."

# What a refusal is raised as. AssertionError counts: many launchers say it so. A KeyError or an IndexError from deep
# inside a library tells the caller nothing.
_REFUSALS = (ValueError, TypeError, NotImplementedError, RuntimeError, AssertionError)


@dataclasses.dataclass(frozen=True)
class Refused:
    """A call that the kernel must refuse, and why; `why` is empty where the draw happens to be supported."""

    call: Call
    why: str

    def __repr__(self) -> str:
        return f"{self.call!r}, to be refused: {self.why}"


def skip(trial: Trial) -> str | None:
    """Why the oracle does not apply to a trial, None if it does."""
    return None if _sources(trial, None) else "the kernel declares nothing that it refuses"


def draw(trial: Trial, dtype: torch.dtype | None) -> SearchStrategy[Refused]:
    """Calls that the kernel's promises exclude: layouts, dtypes, sizes, mismatched shapes and dtypes."""
    return st.one_of(_sources(trial, dtype))


def check(trial: Trial, drawn: Refused) -> list[Objection]:
    """Object if the kernel computes a call that it must refuse, or refuses it without a word or after a launch."""
    if not drawn.why:
        return []
    wrong = _wrong(trial.launch(drawn.call))
    return [Objection(RefusalsFailure, LAW, f"{drawn.why}: {wrong}")] if wrong else []


def _wrong(launch: Launch) -> str | None:
    error = launch.error
    if error is None:
        return "the kernel computed a result"
    if launch.geometry:
        return f"{type(error).__name__} was raised only after a launch"
    if not isinstance(error, _REFUSALS):
        return f"{type(error).__name__} is no refusal; raise ValueError or TypeError that names the argument"
    if not str(error).strip():
        return f"{type(error).__name__} has no message; name the argument and what is supported"
    return None


def _sources(trial: Trial, dtype: torch.dtype | None) -> list[SearchStrategy[Refused]]:
    op, promises = trial.op, trial.promises
    found: list[SearchStrategy[Refused]] = []
    if promises.layouts is not None and set(promises.layouts) != set(LAYOUTS):
        allowed = set(promises.layouts)
        if "contiguous" in allowed:
            allowed |= {"offset", "odd_ones"}  # both are contiguous to torch, and to a guard that asks it
        found.append(op.calls(dtype=dtype, long=()).map(lambda call: Refused(call, _layout(call, allowed))))
    if promises.dtypes is not None:
        for other in op.dtypes():
            if other not in promises.dtypes:
                why = f"the dtype {str(other).removeprefix('torch.')} is not promised"
                found.append(op.calls(dtype=other, long=()).map(functools.partial(Refused, why=why)))
    for name, largest in promises.limits:
        why = f"the axis {name} is longer than the limit {largest}"
        sized = op.calls(dtype=dtype, replaced={name: fixed(largest + 1)}, max_elements=max(4096, 2 * largest))
        found.append(sized.map(functools.partial(Refused, why=why)))
    names = _comparable(trial)
    if "shapes" in promises.refuses and names:
        found.append(st.tuples(op.calls(dtype=dtype, long=()), st.sampled_from(names)).map(lambda t: _reshaped(*t)))
    if "dtypes" in promises.refuses and len(names) > 1:
        found.append(st.tuples(op.calls(dtype=dtype, long=()), st.sampled_from(names)).map(lambda t: _retyped(*t)))
    return found


def _layout(call: Call, allowed: set[str]) -> str:
    for name, value in call.tensors.items():
        if not allowed.issuperset(value.layout.kinds):
            return f"{name} is {value.layout.kind}, and only {', '.join(sorted(allowed))} is promised"
    return ""


def _comparable(trial: Trial) -> tuple[str, ...]:
    """The tensors that share an axis name with another one: their shapes can fail to match."""
    axes = trial.op.argument_axes()
    return tuple(
        name
        for name, own in axes.items()
        if own and any(a is not None and a in other for n, other in axes.items() if n != name for a in own)
    )


def _reshaped(call: Call, name: str) -> Refused:
    value = call.tensors.get(name)
    if value is None or not value.shape:
        return Refused(call, "")
    shape = tuple(n + 1 for n in value.shape)
    changed = TensorDescription(shape, value.dtype, values=value.values)
    return Refused(call.replace(name, changed), f"{name} has shape {shape}, which does not match the other arguments")


def _retyped(call: Call, name: str) -> Refused:
    value = call.tensors.get(name)
    if value is None:
        return Refused(call, "")
    other = torch.float64 if value.dtype != torch.float64 else torch.float32
    changed = TensorDescription(value.shape, other, values=dataclasses.replace(value.values, pattern="ones", pins=()))
    return Refused(call.replace(name, changed), f"{name} is {str(other).removeprefix('torch.')}, the others are not")
