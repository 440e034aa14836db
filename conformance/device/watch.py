"""What compiled launches are like: geometry, grid limits, configs, compile time, the classes that they specialize on.

Triton compiles another kernel where an integer is 1 or a multiple of 16, where it needs 64 bits, and where a pointer is
a multiple of 16 (Triton, `runtime/jit.py`); a fault may sit in one of those kernels alone.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from conformance import observation as observing
from conformance.events import Event, Kind
from conformance.observation import LARGEST_GRID, Geometry

DIVISOR = 16
# Unreached classes that a terminal shows; the coverage of a report has all.
_HOLES = 12


@dataclasses.dataclass
class Counts:
    """Time spent compiling and launching, in seconds, and the launches by specialization class."""

    compile_seconds: float = 0.0
    launch_seconds: float = 0.0
    compiles: int = 0
    launches: int = 0
    specializations: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def add(self, other: Counts) -> None:
        """Add what was counted elsewhere."""
        self.compile_seconds += other.compile_seconds
        self.launch_seconds += other.launch_seconds
        self.compiles += other.compiles
        self.launches += other.launches
        if other.specializations:
            self.specializations.update(other.specializations)

    def since(self, before: Counts) -> Counts:
        """What was counted since a copy of these counts was made."""
        return Counts(
            self.compile_seconds - before.compile_seconds,
            self.launch_seconds - before.launch_seconds,
            self.compiles - before.compiles,
            self.launches - before.launches,
            self.specializations - before.specializations,
        )

    def copy(self) -> Counts:
        """A copy that stays as it is."""
        return dataclasses.replace(self, specializations=self.specializations.copy())

    def lines(self) -> list[str]:
        """What a terminal shows of them: the times apart, and the specialization classes that no launch reached."""
        if not self.launches:
            return []
        times = (
            f"{self.launches:,} compiled launches took {self.launch_seconds:.1f} s; "
            f"{self.compiles:,} of them compiled first, which took {self.compile_seconds:.1f} s"
        )
        holes = missing(self.specializations)
        shown = ", ".join(holes[:_HOLES]) + (f" and {len(holes) - _HOLES} more" if len(holes) > _HOLES else "")
        return [times, *([f"specialization classes not reached: {shown}"] if holes else [])]

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {**dataclasses.asdict(self), "specializations": dict(self.specializations)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Counts:
        """The counts that `to_json` wrote."""
        return cls(**{**data, "specializations": collections.Counter(data["specializations"])})


_totals = Counts()
_open: list[Counts] = []


def totals() -> Counts:
    """What was counted in this process and its children so far."""
    return _totals


@contextlib.contextmanager
def counting() -> Iterator[Counts]:
    """Count the launches inside the block."""
    counts = Counts()
    _open.append(counts)
    try:
        yield counts
    finally:
        _open.remove(counts)


_compiling = [False]


@contextlib.contextmanager
def compiling(threads: int) -> Iterator[Counts]:
    """Let dry launches of Triton kernels inside the block compile what they would launch, on that many threads.

    At the end everything is compiled, and the counts say how much and in which time; what does not compile is left
    for the launch that needs it.
    """
    counts = Counts()
    if "triton" not in sys.modules:
        yield counts
        return
    from triton import AsyncCompileMode

    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(threads) as executor:
        _compiling[0] = True
        try:
            with AsyncCompileMode(executor, ignore_errors=True) as mode:
                yield counts
                counts.compiles = len(mode.raw_futures)
        finally:
            _compiling[0] = False
    counts.compile_seconds = time.perf_counter() - started if counts.compiles else 0.0


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """Count the time of the block as launching, but for the part that its launches spend compiling."""
    before = [counts.compile_seconds for counts in _open]
    started = time.perf_counter()
    try:
        yield
    finally:
        spent = time.perf_counter() - started
        for counts, compiling in zip(_open, before, strict=True):
            counts.launch_seconds += spent - (counts.compile_seconds - compiling)


def integer_class(value: int) -> str:
    """The class of an integer argument that Triton compiles a kernel for.

    >>> [integer_class(n) for n in (1, 48, 7, 2**31)]
    ['1', 'multiple of 16', 'other', '64 bits, multiple of 16']
    """
    if value == 1:
        return "1"
    name = "multiple of 16" if value % DIVISOR == 0 else "other"
    return name if -(2**31) <= value < 2**31 else f"64 bits, {name}"


def pointer_class(tensor: torch.Tensor) -> str:
    """The class of a pointer argument: whether it is a multiple of 16 bytes."""
    return "aligned" if tensor.data_ptr() % DIVISOR == 0 else "unaligned"


def classes(names: Sequence[str], values: Sequence[object]) -> Iterator[str]:
    """The specialization class of each argument that has one, as `name: class`."""
    for name, value in zip(names, values, strict=False):
        if isinstance(value, torch.Tensor):
            yield f"{name}: {pointer_class(value)}"
        elif isinstance(value, int) and not isinstance(value, bool):
            yield f"{name}: {integer_class(value)}"


def missing(specializations: collections.Counter[str] | dict[str, int]) -> list[str]:
    """The classes that no launch reached, of the arguments that some launch had; 64-bit ones need huge tensors."""
    found: dict[str, set[str]] = {}
    for entry in specializations:
        name, _, kind = entry.rpartition(": ")
        found.setdefault(name, set()).add(kind)
    holes = []
    for name, kinds in found.items():
        known = ("aligned", "unaligned") if kinds & {"aligned", "unaligned"} else ("1", "multiple of 16", "other")
        holes += [f"{name}: {kind}" for kind in known if kind not in kinds]
    return holes


def note_grid(observation: observing.Observation, kernel: str, grid: tuple[int, int, int]) -> None:
    """Note each dimension of a grid that CUDA does not launch."""
    for size, limit, axis in zip(grid, LARGEST_GRID, "xyz", strict=True):
        if size > limit:
            detail = f"grid {axis} is {size}; a GPU launches at most {limit}"
            observation.events.append(Event(Kind.GRID_LIMIT, "the launch", detail, kernel=kernel))


def install() -> None:
    """Watch the launches of Triton kernels and of `kernels_cuda`, as far as they are imported by now."""
    if "triton" in sys.modules:
        _install_triton()
    launcher = sys.modules.get("kernels_cuda.launcher")
    if launcher is not None:
        _install_cuda(launcher)


def _count(kernel: str, entries: Iterator[str], seconds: float, compiled: bool) -> None:
    found = [f"{kernel}.{entry}" for entry in entries]
    for counts in _open:
        counts.launches += 1
        counts.specializations.update(found)
        if compiled:
            counts.compiles += 1
            counts.compile_seconds += seconds


@functools.cache
def _install_triton() -> None:
    from triton import knobs
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    compiled = [0]
    listener = knobs.compilation.listener

    def listen(**news: Any) -> None:
        compiled[0] += 1
        if listener is not None:
            listener(**news)

    knobs.compilation.listener = listen
    JITFunction.run = _watched_run(JITFunction.run, compiled)
    Autotuner.run = _watched_tuner(Autotuner.run)
    Autotuner.do_bench = property(_benchmark(Autotuner.do_bench))


def _watched_run(own: Callable[..., Any], compiled: list[int]) -> Callable[..., Any]:
    @functools.wraps(own)
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        observation = observing.current()
        if observation is None or warmup:
            return own(self, *args, grid=grid, warmup=warmup, **kwargs)
        bound = self.signature.bind_partial(
            *args, **{n: v for n, v in kwargs.items() if n in self.signature.parameters}
        )
        bound.apply_defaults()
        kwargs.update((n, v) for n, v in observation.compiler if n not in self.signature.parameters)
        constexprs = {p.name for p in self.params if p.is_constexpr}
        sizes = _extent(grid(bound.arguments) if callable(grid) else grid)
        meta = tuple((n, v) for n, v in bound.arguments.items() if n in constexprs)
        extra = tuple((n, v) for n, v in kwargs.items() if n not in self.signature.parameters)
        name = self.fn.__name__
        observation.geometry.append(Geometry(name, sizes, (), meta + extra))
        note_grid(observation, name, sizes)
        if observation.dry:
            return own(self, *args, grid=sizes, warmup=True, **kwargs) if _compiling[0] else None
        before, started = compiled[0], time.perf_counter()
        try:
            return own(self, *args, grid=sizes, warmup=False, **kwargs)
        finally:
            seconds = time.perf_counter() - started
            plain = [n for n in bound.arguments if n not in constexprs]
            entries = classes(plain, [bound.arguments[n] for n in plain])
            _count(name, entries, seconds, compiled[0] > before)

    return run


def _watched_tuner(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        observation = observing.current()
        if observation is None:
            return own(self, *args, **kwargs)
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        configs = self.prune_configs(kwargs)
        observation.configs = max(observation.configs, len(configs))
        tried = [configs[k] for k in observing.tried(len(configs), observation.seed)]
        if observation.tune and not observation.dry:
            with _first_tuning(self, tried):
                return own(self, *args, **kwargs)
        if not observation.tune:
            # times are equal under observation, so that a tuner would choose the first
            tried = [configs[(observation.config or 0) % len(configs)]]
        for config in tried:
            self.best_config = config
            if config.pre_hook is not None:
                config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
            result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result

    return run


@contextlib.contextmanager
def _first_tuning(tuner: Any, configs: Sequence[Any]) -> Iterator[None]:
    """Let the tuner choose among the configs, as if it had chosen nothing yet, and forget what it chooses.

    Nothing is timed under observation: a choice that stayed, in the process or in Triton's cache on disk, would be the
    one that programs get.
    """
    kept, stored = tuner.cache, getattr(tuner, "cache_results", False)
    tuner.cache, tuner.cache_results, tuner.prune_configs = {}, False, lambda _: configs
    try:
        yield
    finally:
        tuner.cache, tuner.cache_results = kept, stored
        del tuner.prune_configs


def _benchmark(own: Any) -> Callable[[Any], Any]:
    """The tuner's benchmark: its own one, or under observation one launch a config, which is what can go wrong."""

    def once(kernel_call: Callable[[], Any], quantiles: Sequence[float] = (), **_: Any) -> list[float]:
        kernel_call()
        torch.cuda.synchronize()
        return [0.0] * max(1, len(quantiles))  # equal times: the first config wins, in every process

    def do_bench(self: Any) -> Any:
        if observing.current() is not None:
            return once
        return own.__get__(self, type(self))

    return do_bench


def _extent(grid: Any) -> tuple[int, int, int]:
    sizes = (grid,) if isinstance(grid, int) else tuple(grid)
    x, y, z = (*sizes, 1, 1)[:3]
    return int(x), int(y), int(z)


class WatchedBackend:
    """A backend of `kernels_cuda.launcher` that notes each launch before another backend makes it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self._launched: set[tuple[int, str]] = set()

    def compile(self, source: str, *, options: tuple[str, ...]) -> Any:
        """What the other backend compiles."""
        return self.inner.compile(source, options=options)

    def tensor_map(self, tensor: torch.Tensor, rows: int, columns: int) -> bytes:
        """The tensor map of the other backend."""
        encoded: bytes = self.inner.tensor_map(tensor, rows, columns)
        return encoded

    def launch(
        self, handle: Any, name: str, grid: tuple[int, int, int], block: tuple[int, int, int],
        args: Sequence[Any], shared: int, signature: Any,
    ) -> None:  # fmt: skip
        """Launch through the other backend. The first launch of a kernel, which compiles it, counts as compiling."""
        observation = observing.current()
        if observation is not None:
            observation.geometry.append(Geometry(name, grid, block))
            note_grid(observation, name, grid)
            if observation.dry:
                return
        first = (id(handle), name) not in self._launched
        self._launched.add((id(handle), name))
        started = time.perf_counter()
        try:
            self.inner.launch(handle, name, grid, block, args, shared, signature)
        finally:
            pointers = [(p.name, v) for p, v in zip(signature, args, strict=True) if isinstance(v, torch.Tensor)]
            entries = classes([n for n, _ in pointers], [v for _, v in pointers])
            _count(name, entries, time.perf_counter() - started, first)


def _install_cuda(launcher: Any) -> None:
    try:
        backend = launcher.current_backend()
    except ImportError:
        return  # no CuPy: a launch says so itself
    if not isinstance(backend, WatchedBackend):
        launcher.set_backend(WatchedBackend(backend))
