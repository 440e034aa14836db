"""The launch of a kernel: bind, find the tape, and evaluate the programs in batches, in the order that is asked for."""

from __future__ import annotations

import contextlib
import functools
import inspect
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import triton.language as tl
import triton.runtime.interpreter as stock
from triton._utils import type_canonicalisation_dict
from triton.runtime.errors import InterpreterError
from triton.runtime.jit import _normalize_ty

from conformance import observation as observing
from conformance.events import Kind
from conformance.interpreter import arguments
from conformance.interpreter.blocks import Blocks
from conformance.interpreter.errors import RejectedError
from conformance.interpreter.hazards import Place
from conformance.interpreter.shadow import Shadow
from conformance.interpreter.sites import foreign
from conformance.interpreter.tape import Batch, Machine, Node, Recording
from conformance.interpreter.tracing import Group, Tracer
from conformance.observation import LARGEST_GRID, Geometry, Observation
from conformance.regions import Region, Role
from conformance.watchdog import Deadline, HangError

Array = np.ndarray[Any, Any]

_SCALAR_TYPES = frozenset(type_canonicalisation_dict.values()) - {"constexpr"}
# elements of one value of a batch: 2**18 float32 are a megabyte, about the second-level cache
_BATCH_ELEMENTS = 1 << 18
_MOST_PROGRAMS = 4096
_UNKNOWN_LANES = 4096  # before the first program of a kernel has run
# what a kernel may keep: a step takes about 300 bytes
_MOST_STEPS, _MOST_TAPES = 500_000, 512
# of CPU time: a launch that takes longer does not end; the slowest correct case of the suite takes under a second
SECONDS = 20.0


@functools.lru_cache(maxsize=256)
def _small_grid(grid: tuple[int, int, int]) -> tuple[Array, Array]:
    linear = np.arange(grid[0] * grid[1] * grid[2], dtype=np.int64)
    return np.stack(np.unravel_index(linear, grid), 1).astype(np.int32), linear


def program_ids(grid: tuple[int, int, int], order: str, seed: int) -> tuple[Array, Array]:
    """Program ids (n, 3) and numbers (n,) in the order of execution; row order is x, then y, then z innermost."""
    if grid[0] * grid[1] * grid[2] <= 1 << 16:
        ids, linear = _small_grid(grid)
    else:
        ids, linear = _small_grid.__wrapped__(grid)
    if order == "reverse":
        return ids[::-1], linear[::-1]
    if order == "random":
        shuffled = np.random.default_rng(seed).permutation(len(linear))
        return ids[shuffled], linear[shuffled]
    return ids, linear


_chosen: list[Callable[[Array], Array]] = []


@contextlib.contextmanager
def programs(choose: Callable[[Array], Array]) -> Iterator[None]:
    """Inside the block, run only programs whose row of the (n, 3) id array `choose` marks True (or lists)."""
    _chosen.append(choose)
    try:
        yield
    finally:
        _chosen.pop()


class Launch:
    """What the operations of a tape need to know of the launch they run in."""

    __slots__ = ("grid", "kernel", "observation", "poison", "tracer")

    def __init__(self, kernel: str, grid: tuple[int, int, int], observation: Observation | None) -> None:
        self.kernel, self.grid, self.observation = kernel, grid, observation
        self.poison = observation is not None
        self.tracer: Tracer | None = None

    @property
    def grid_dim(self) -> Array:
        """The grid's sizes, for programs to ask for."""
        return np.array([self.grid], np.int32)

    def note(self, kind: Kind, place: Place, detail: str, count: int = 1, stamps: tuple[int, ...] = ()) -> None:
        """An event that concerns no tensor."""
        tracer = self.tracer
        if tracer is None:
            assert self.observation is not None
            tracer = Tracer(self.observation, self.kernel, self.grid, 0)
            tracer.note(kind, self.kernel, place, count, detail)
            tracer.close()
        else:
            tracer.note(kind, self.kernel, place, count, detail, stamps)

    def reject(self, why: str, place: Place, stop: bool) -> None:
        """The compiler refuses this line."""
        if self.observation is not None:
            self.note(Kind.REJECTED, place, why)
        if stop:
            raise RejectedError(f"{why} ({place[0]}:{place[1]})")

    def claim(self, value: Array, shape: tuple[int, ...], message: str, place: Place) -> None:
        """An assertion does not hold."""
        if self.observation is None:
            raise AssertionError(message)
        failed = int(value.size - np.count_nonzero(value))
        stamps: tuple[int, ...] = ()
        if self.tracer is not None and value.shape[0] == len(self.tracer.stamps):
            row = int(np.argmin(value.reshape(value.shape[0], -1).all(1)))
            stamps = (int(self.tracer.stamps[row]),)
        self.note(Kind.DEVICE_ASSERT, place, message, failed, stamps)


class Interpreter(Machine):
    """The machine that runs every kernel of the process."""

    def __init__(self, repairs: frozenset[str]) -> None:
        super().__init__()
        self.repairs = repairs
        self.builder = Blocks(repairs)
        self.builder.machine = self
        self.launch: Launch = None  # type: ignore[assignment]

    def enter(self, batch: Batch) -> None:
        """Make `batch` the one whose programs run now."""
        self.batch = batch
        tracer = self.launch.tracer
        if tracer is not None:
            tracer.enter(batch.linear)


class Kernel:
    """What is known of a `@triton.jit` function: its parameters and its tapes."""

    def __init__(self, function: Any) -> None:
        self.function = function
        fn = function.fn
        self.name = fn.__name__
        parameters = inspect.signature(fn).parameters
        self.names = tuple(parameters)
        self.accepted = frozenset(parameters)
        self.defaults = {n: p.default for n, p in parameters.items() if p.default is not inspect.Parameter.empty}
        annotations = {n: _normalize_ty(t) for n, t in inspect.get_annotations(fn).items()}
        self.constexprs = frozenset(n for n in self.names if annotations.get(n) == "constexpr")
        # scalars whose type the author states; compiled kernels take it from there
        self.kinds = {n: t for n, t in annotations.items() if isinstance(t, str) and t in _SCALAR_TYPES}
        self.roots: dict[Any, Node] = {}
        self.lanes: dict[Any, int] = {}  # lanes of the widest value of a program
        self.recorded = 0
        self.globals = list(_globals(function, set()))

    def trim(self, steps: int) -> None:
        """Account for a new recording; tapes are thrown away before they fill the memory."""
        self.recorded += steps
        if self.recorded > _MOST_STEPS or len(self.roots) > _MOST_TAPES:
            self.roots.clear()
            self.recorded = 0

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, in the order of the parameters; keywords that are none (num_warps) are left out."""
        if len(args) > len(self.names):
            raise TypeError(f"{self.name}() takes {len(self.names)} arguments but {len(args)} were given")
        bound = dict(zip(self.names, args, strict=False))
        given = len(bound)
        for name, value in kwargs.items():
            if name in self.accepted:
                if name in bound:
                    raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
                bound[name] = value
        if len(bound) < len(self.names):
            for name, value in self.defaults.items():
                bound.setdefault(name, value)
            missing = [n for n in self.names if n not in bound]
            if missing:
                raise TypeError(f"{self.name}() missing arguments: {', '.join(missing)}")
        return bound if given == len(self.names) else {n: bound[n] for n in self.names}


def _globals(function: Any, seen: set[int]) -> Iterator[tuple[dict[str, Any], str]]:
    """(namespace, name) of the constants and device functions that a kernel takes from its module."""
    if id(function) in seen:
        return
    seen.add(id(function))
    namespace = function.fn.__globals__
    for name in function.fn.__code__.co_names:
        value = namespace.get(name)
        if isinstance(value, (bool, int, float, str, tl.constexpr, tl.dtype)):
            yield namespace, name
        elif isinstance(value, stock.InterpretedFunction):
            yield namespace, name
            yield from _globals(value, seen)


def kernel_of(function: Any) -> Kernel:
    """The kernel of an InterpretedFunction, made at its first launch."""
    kernel: Kernel | None = function.__dict__.get("_conformance_kernel")
    if kernel is None:
        kernel = function._conformance_kernel = Kernel(function)
    return kernel


def _grid(grid: Any, bound: dict[str, Any]) -> tuple[int, int, int]:
    sizes = grid(bound) if callable(grid) else grid
    if len(sizes) > 3:
        raise ValueError(f"grid has {len(sizes)} dimensions; at most 3 are possible")
    x, y, z = (*[int(n) for n in sizes], 1, 1)[:3]
    return x, y, z


def _trace(launch: Launch, given: arguments.Arguments, observation: Observation, programs: int) -> Tracer:
    tracer = launch.tracer = Tracer(observation, launch.kernel, launch.grid, programs)
    arena = observation.arena
    for number, name, tensor in given.pointers:
        base = getattr(tensor, "base", tensor) if type(tensor).__name__ == "TensorWrapper" else tensor
        if not hasattr(base, "untyped_storage"):
            continue  # a tensor-like object: its addresses are looked up among the call's tensors
        regions = arena.find(base)
        if not regions:
            regions = [arena.add(_whole_storage(name, base))]
        tracer.groups[number] = Group(name, [Shadow.of(r) for r in regions], base.data_ptr())
    return tracer


def _whole_storage(name: str, tensor: torch.Tensor) -> Region:
    """A region for memory that the core has not seen being made: a copy, or a constant of the launcher."""
    storage = tensor.untyped_storage()
    with torch._C._DisableTorchDispatch():
        whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        whole.set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))
    return Region(name, whole, Role.SCRATCH, initialized=True)


class Prepared:
    """A launch with everything that its evaluation needs."""

    __slots__ = ("given", "ids", "kernel", "key", "launch", "linear", "observation", "root", "watching")

    def __init__(
        self,
        kernel: Kernel,
        launch: Launch,
        given: arguments.Arguments,
        ids: Array,
        linear: Array,
        observation: Observation | None,
    ) -> None:
        self.kernel, self.launch, self.given, self.ids, self.linear = kernel, launch, given, ids, linear
        self.observation = observation
        self.watching = observation is not None and observation.trace and observation.overflow
        outside = tuple([arguments.constant(namespace.get(name)) for namespace, name in kernel.globals])
        self.key = self.watching, given.key, outside
        root = kernel.roots.get(self.key)
        if root is None:
            root = kernel.roots[self.key] = Node(None, None, len(given.values))
        self.root = root


def run(machine: Interpreter, function: Any, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> None:
    """Launch a kernel as `kernel[grid](*args, **kwargs)` does."""
    kernel = kernel_of(function)
    bound = kernel.bind(args, kwargs)
    for hook in function.pre_run_hooks:
        hook(*args, **{k: v for k, v in kwargs.items() if k in kernel.accepted})
    sizes = _grid(grid, bound)
    observation = observing.current()
    if observation is not None:
        meta = tuple((n, v) for n, v in bound.items() if n in kernel.constexprs)
        extra = tuple((n, v) for n, v in kwargs.items() if n not in kernel.accepted)
        observation.geometry.append(Geometry(kernel.name, sizes, (), meta + extra))
        if observation.dry:
            return
    ids, linear = program_ids(
        sizes, observation.order if observation else "row", observation.seed if observation else 0
    )
    for choose in _chosen:
        chosen = choose(ids)
        ids, linear = ids[chosen], linear[chosen]
    launch = Launch(kernel.name, sizes, observation)
    faithful = "scalars" in machine.repairs
    given = arguments.Arguments(bound, kernel.constexprs, faithful, kernel.kinds if faithful else None)
    for _, name, value in given.pointers:
        device = getattr(value, "device", None)
        if device is not None and getattr(device, "type", "cpu") != "cpu":
            raise ValueError(f"{kernel.name}: argument {name} is on {device}; the interpreter runs on CPU tensors")
    if observation is not None:
        if observation.trace:
            _trace(launch, given, observation, sizes[0] * sizes[1] * sizes[2])
        for size, limit, axis in zip(sizes, LARGEST_GRID, "xyz", strict=True):
            if size > limit:
                place = function.fn.__code__.co_filename, function.fn.__code__.co_firstlineno
                launch.note(Kind.GRID_LIMIT, place, f"grid {axis} is {size}; a GPU launches at most {limit}")
    if not len(linear):
        return
    prepared = Prepared(kernel, launch, given, ids, linear, observation)
    if observation is not None and observation.waiting is not None:
        observation.waiting.append((prepared, observation.arena.version()))
    else:
        complete(machine, prepared)


def complete(machine: Interpreter, prepared: Prepared) -> None:
    """Make a launch, by itself."""
    kernel, launch, observation = prepared.kernel, prepared.launch, prepared.observation
    try:
        evaluate(machine, prepared, prepared.given.values)
    except HangError as hang:
        where = _line(hang, kernel)
        if observation is not None:
            launch.note(Kind.HANG, where, str(hang))
        raise HangError(f"{kernel.name} ({where[0]}:{where[1]}): {hang}") from hang
    except Exception as error:
        file, line = _line(error, kernel)
        raise InterpreterError(f"{error!r} at {file}:{line}") from error
    finally:
        if launch.tracer is not None:
            launch.tracer.close()


def evaluate(machine: Interpreter, prepared: Prepared, values: list[Any]) -> None:
    """Run the programs of a launch, or of launches together, in batches; `values` are those of the first slots."""
    kernel, key, observation = prepared.kernel, prepared.key, prepared.observation
    ids, linear = prepared.ids, prepared.linear
    fn = kernel.function.rewrite()
    outer, machine.launch = machine.launch, prepared.launch
    machine.deadline = Deadline(SECONDS)

    def record(recording: Recording) -> None:
        machine.builder.recording, machine.builder.watching = recording, prepared.watching
        fn(**arguments.build(recording, kernel.names, prepared.given.key))
        kernel.lanes[key] = max(kernel.lanes.get(key, 1), recording.widest)
        kernel.trim(len(recording.values))

    # one program after another where the order is asked for: in a batch all loads come before any store
    in_order = observation is not None and observation.order != "row"
    start, total = 0, len(linear)
    try:
        with np.errstate(all="ignore"):
            while start < total:
                if in_order:
                    size = 1
                else:
                    lanes = kernel.lanes.get(key, _UNKNOWN_LANES)
                    size = min(_MOST_PROGRAMS, max(1, _BATCH_ELEMENTS // lanes))
                rows = slice(start, start + size)
                whole = not start and size >= total
                part = list(values) if whole else [v if len(v) == 1 else v[rows] for v in values]
                machine.run(Batch(prepared.root, part, ids[rows], linear[rows]), record)
                start += size
    finally:
        machine.launch = outer


def _line(error: BaseException, kernel: Kernel) -> Place:
    """The kernel's line in which an error was raised; its first line if the error came from a replayed tape."""
    code = kernel.function.fn.__code__
    place = code.co_filename, code.co_firstlineno
    for frame, line in traceback.walk_tb(error.__traceback__):
        if not foreign(frame.f_code.co_filename):
            place = frame.f_code.co_filename, line
    return place
