"""Runs a launcher under observation, and finds marked lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from conformance.events import Event, Kind
from conformance.observation import Observation, observe
from conformance.regions import Arena, Region, Role


def observed(
    run: Callable[[], Any], *, inputs: Any = (), outputs: Any = (), inouts: Any = (), **settings: Any
) -> Observation:
    """The observation of `run`, with the tensors (by name) as regions."""
    arena = Arena()
    for tensors, role in ((inputs, Role.IN), (outputs, Role.OUT), (inouts, Role.INOUT)):
        for name, tensor in dict(tensors).items():
            arena.add(Region(name, tensor, role, initialized=role is not Role.OUT))
    observation = Observation(arena, **settings)
    with observe(observation):
        run()
    return observation


def region(observation: Observation, name: str) -> Region:
    return next(r for r in observation.arena if r.name == name)


def kinds(observation: Observation) -> set[Kind]:
    return {e.kind for e in observation.events}


def only(observation: Observation, kind: Kind) -> Event:
    found = [e for e in observation.events if e.kind is kind]
    assert len(found) == 1, observation.events
    return found[0]


def line(kernel: Any, mark: str) -> int:
    """The line of a kernel's source that carries a mark."""
    source, first = inspect.getsourcelines(kernel.fn)
    return next(first + i for i, text in enumerate(source) if text.rstrip().endswith(f"# {mark}"))


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(*shape, dtype=dtype)
