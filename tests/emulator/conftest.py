from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from conformance.emulator import Backend, Shadow
from conformance.events import Event, Kind
from conformance.observation import Observation, observe
from conformance.regions import Arena, Region, Role

ROLES = {"in": Role.IN, "out": Role.OUT, "inout": Role.INOUT, "scratch": Role.SCRATCH}


@dataclasses.dataclass
class Seen:
    observation: Observation

    @property
    def events(self) -> list[Event]:
        return self.observation.events

    @property
    def kinds(self) -> set[Kind]:
        return {e.kind for e in self.observation.events}

    @property
    def regions(self) -> list[Region]:
        return list(self.observation.arena)

    def __str__(self) -> str:
        return "\n".join(map(str, self.events))


@pytest.fixture(scope="session")
def run_cuda() -> Callable[..., Seen]:
    backend = Backend(seconds=2.0)

    def run(
        source: str,
        args: Sequence[Any],
        roles: Sequence[str],
        *,
        name: str | None = None,
        grid: Any = 1,
        block: Any = 64,
        shared: int = 0,
        into: Arena | None = None,
        **settings: Any,
    ) -> Seen:
        handle = backend.compile(source)
        arena = into or Arena()
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if into is None:
            for i, (tensor, role) in enumerate(zip(tensors, roles, strict=True)):
                arena.add(Region(f"arg{i}", tensor, ROLES[role], initialized=role in ("in", "inout")))
        program = handle.program(checked=True)
        with observe(Observation(arena, **settings)) as seen:
            backend.launch(handle, name or next(iter(program.exports)), grid, block, args, shared)
        assert all(r.shadow is None or isinstance(r.shadow, Shadow) for r in arena)
        return Seen(seen)

    return run
