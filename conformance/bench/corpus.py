"""A corpus of small CUDA programs that are right, and their racy variants: recall and false alarms of the emulator."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Iterator

import torch

from conformance.emulator import Backend
from conformance.events import Event
from conformance.mutation.cuda import mutants
from conformance.mutation.mutant import Mutant
from conformance.observation import Observation, Order, observe
from conformance.regions import Arena, Region, Role

SCHEDULES: tuple[tuple[Order, int], ...] = (("row", 0), ("reverse", 0), ("random", 1), ("random", 2))
_EQUIVALENT = re.compile(r"//\s*equivalent(?: \((\w+)\))?: (.*)")


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor argument of a corpus program, as its first line describes it."""

    role: Role
    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    zeros: bool
    partial: bool  # the kernel need not write it all

    def build(self, generator: torch.Generator) -> torch.Tensor:
        """The tensor with seeded integers; 0xFF bytes where the kernel must write."""
        if self.role in (Role.OUT, Role.SCRATCH):
            size = torch.empty(0, dtype=self.dtype).element_size()
            count = torch.Size(self.shape).numel()
            return torch.full((count * size,), 255, dtype=torch.uint8).view(self.dtype).reshape(self.shape)
        if self.zeros:
            return torch.zeros(self.shape, dtype=self.dtype)
        if self.dtype.is_floating_point:  # small integers: every order of operations is exact, in half too
            count = torch.Size(self.shape).numel()
            return (torch.randperm(count, generator=generator) % 64 - 32).reshape(self.shape).to(self.dtype)
        return torch.randint(0, 2 if self.dtype is torch.uint8 else 100, self.shape, generator=generator).to(self.dtype)


@dataclasses.dataclass(frozen=True)
class Program:
    """One file of the corpus. Its first line says how to launch it: `// grid 2, block 64; in x float32 128; n 128`."""

    path: pathlib.Path
    text: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: tuple[Tensor | int | float, ...]

    @property
    def name(self) -> str:
        """The name of the file and of its kernel."""
        return self.path.stem

    @property
    def tensor_arguments(self) -> list[Tensor]:
        """The tensor arguments in order."""
        return [a for a in self.arguments if isinstance(a, Tensor)]

    def tensors(self, seed: int = 0) -> list[torch.Tensor]:
        """The tensors in order, as before a launch."""
        generator = torch.Generator().manual_seed(seed)
        return [a.build(generator) for a in self.tensor_arguments]

    def run(self, backend: Backend, text: str, order: Order, seed: int) -> tuple[list[Event], list[torch.Tensor]]:
        """The events of one launch of `text` (the program's own, or a variant's), and its tensors afterwards."""
        tensors = self.tensors()
        arena, left = Arena(), list(tensors)
        args: list[torch.Tensor | int | float] = []
        for a in self.arguments:
            if isinstance(a, Tensor):
                filled = a.role in (Role.IN, Role.INOUT)
                arena.add(Region(a.name, left[0], a.role, initialized=filled))
                args.append(left.pop(0))
            else:
                args.append(a)
        handle = backend.compile(text, path=self.path.name)
        with observe(Observation(arena, order=order, seed=seed)) as seen:
            backend.launch(handle, self.name, self.grid, self.block, args, self.shared)
        return seen.events, tensors


@dataclasses.dataclass(frozen=True)
class Variant:
    """A racy variant of a program: one order less; `reason` says why it is no race after all."""

    program: Program
    mutant: Mutant
    reason: str | None


def programs(folder: pathlib.Path) -> list[Program]:
    """The programs of a folder, by name.

    Raises:
        ValueError: a first line cannot be read.
    """
    return [_program(path) for path in sorted(folder.glob("*.cu"))]


def variants(program: Program) -> Iterator[Variant]:
    """The racy variants of a program."""
    lines = program.text.splitlines()
    for mutant in mutants(program.text):
        if mutant.kind not in ("delete", "plain"):
            continue
        note = _EQUIVALENT.search(lines[mutant.line - 1])
        reason = note[2] if note and note[1] in (None, mutant.kind) else None
        yield Variant(program, mutant, reason)


def _program(path: pathlib.Path) -> Program:
    text = path.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    if not first.startswith("// grid "):
        raise ValueError(
            f"{path}: the first line must say how to launch it: // grid 2, block 64; in x float32 128; n 128"
        )
    launch, *rest = [part.strip() for part in first[3:].split(";")]
    sizes = re.fullmatch(r"grid ([\d ]+), block ([\d ]+)", launch)
    if sizes is None:
        raise ValueError(f"{path}: cannot read `{launch}`")
    shared = 0
    arguments: list[Tensor | int | float] = []
    for part in rest:
        words = part.split()
        if words[0] == "shared":
            shared = int(words[1])
        elif words[0] in Role._value2member_map_:
            shape = tuple(int(w) for w in words[3:] if w.isdigit())
            arguments.append(
                Tensor(Role(words[0]), words[1], getattr(torch, words[2]), shape, "zeros" in words, "partial" in words)
            )
        else:
            arguments.append(float(words[1]) if "." in words[1] else int(words[1]))
    grid, block = (tuple(int(w) for w in sizes[i].split()) for i in (1, 2))
    return Program(path, text, grid, block, shared, tuple(arguments))
