"""One observed run of a kernel on a call: place the arguments, call the kernel as shipped, keep what was seen."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from hypothesis.errors import StopTest

from conformance import runtime
from conformance.events import Event
from conformance.memory import Allocations, Allocator, Placed, intercept, place, plain
from conformance.observation import Geometry, Observation, Order, observe
from conformance.poison import Poison
from conformance.regions import Arena, Role
from conformance.watchdog import CALL_SECONDS, LauncherHang, Watchdog, interrupted
from strategies import Call, TensorDescription
from strategies.layouts import dense_strides

if TYPE_CHECKING:
    from conformance.op import Op

Kernel = Callable[..., Any]

_watchdog = Watchdog(LauncherHang)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to launch; what differs between two launches of one call is all in here.

    Every launch is traced: what an untraced one writes out of bounds lands in the memory of the test process.
    """

    order: Order = "row"
    seed: int = 0
    poison: Poison = "nan"
    dry: bool = False
    config: int | None = None
    tune: bool = False
    compiler: tuple[tuple[str, int], ...] = ()
    meta: tuple[tuple[str, Any], ...] = ()
    allocator: Allocator = plain
    contiguous: bool = False  # give the kernel contiguous copies of every argument


@dataclasses.dataclass(eq=False)
class Launch:
    """What one run did.

    `values` are the logical values of the tensor arguments before the launch (contiguous, on the CPU, and for reading
    only: other launches of the same numbers hold the same tensors), `outputs` what the kernel gave: mutated arguments,
    then returned tensors. `error` is what it raised, `returned` what it returned when that was no tensor.
    """

    call: Call
    settings: Settings
    arena: Arena
    values: dict[str, torch.Tensor]
    placed: dict[str, Placed]
    allocations: list[Placed]
    outputs: list[torch.Tensor]
    events: list[Event]
    geometry: list[Geometry]
    configs: int
    float_atomics: bool
    seconds: float
    error: BaseException | None = None
    returned: object = None

    def output_placed(self, index: int) -> Placed | None:
        """The guarded storage that output number `index` lies in, None if torch made it elsewhere."""
        if self.outputs[index].layout != torch.strided:
            return None
        address = self.outputs[index].untyped_storage().data_ptr()
        for placed in (*self.placed.values(), *self.allocations):
            if placed.address == address and placed.storage.numel():
                return placed
        return None


class KernelExit(Exception):
    """The kernel called sys.exit."""


@functools.lru_cache(maxsize=4096)
def keyword_names(function: Callable[..., Any], names: tuple[str, ...]) -> frozenset[str]:
    """Those of `names` that the function takes by keyword only; the rest are passed by position."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # builtins without a signature take positions
        return frozenset()
    return frozenset(n for n in names if n in parameters and parameters[n].kind is inspect.Parameter.KEYWORD_ONLY)


def invoke(function: Callable[..., Any], arguments: Mapping[str, Any], meta: Sequence[tuple[str, Any]] = ()) -> Any:
    """What the function returns for the arguments in the op's order, keyword-only ones by keyword."""
    keywords = keyword_names(function, tuple(arguments))
    if not keywords and not meta:
        return function(*arguments.values())
    positional = [value for name, value in arguments.items() if name not in keywords]
    return function(*positional, **{name: arguments[name] for name in arguments if name in keywords}, **dict(meta))


@dataclasses.dataclass(eq=False)
class Started:
    """A run whose launcher has returned, before anybody looks at what it gave.

    Where the observation has a `waiting` list, the launches in it are still to be made.
    """

    op: Op
    call: Call
    settings: Settings
    values: dict[str, torch.Tensor]
    placed: dict[str, Placed]
    allocations: list[Placed]
    observation: Observation
    result: Any
    error: BaseException | None
    seconds: float

    def finish(self) -> Launch:
        """The record of the run."""
        error, settings, observation = self.error, self.settings, self.observation
        outputs, returned = (
            ([], None) if error is not None or settings.dry else _outputs(self.op, self.placed, self.result)
        )
        return Launch(
            call=self.call,
            settings=settings,
            arena=observation.arena,
            values=self.values,
            placed=self.placed,
            allocations=self.allocations,
            outputs=outputs,
            events=_named(observation.events, outputs, self.allocations),
            geometry=observation.geometry,
            configs=observation.configs,
            float_atomics=observation.float_atomics,
            seconds=self.seconds,
            error=error,
            returned=returned,
        )


def launch(
    kernel: Kernel,
    op: Op,
    call: Call,
    settings: Settings | None = None,
    *,
    values: Mapping[str, torch.Tensor] | None = None,
) -> Launch:
    """The record of one run of `kernel` on `call`; what the kernel raises is in it, not raised.

    `values` replaces the logical values of tensor arguments. A smaller shape keeps strides and offset; where an axis
    was expanded, or is longer, the layout is contiguous.
    """
    return start(kernel, op, call, settings, values=values).finish()


def start(
    kernel: Kernel,
    op: Op,
    call: Call,
    settings: Settings | None = None,
    *,
    values: Mapping[str, torch.Tensor] | None = None,
    waiting: list[Any] | None = None,
) -> Started:
    """A run of `kernel` on `call` up to the launcher's return; interpreted launches go to `waiting` if it is given."""
    settings = settings or Settings()
    device = runtime.device()
    arena = Arena()
    arguments: dict[str, Any] = {}
    placed: dict[str, Placed] = {}
    logical: dict[str, torch.Tensor] = {}
    for name, value in call.arguments:
        if not isinstance(value, TensorDescription):
            arguments[name] = value
            continue
        shape, strides, offset = value.shape, value.layout.strides, value.layout.offset
        content = values.get(name) if values is not None else None
        if content is None:
            content = value.values.shared(shape, value.dtype)
        elif 0 in strides or not _fits(tuple(content.shape), shape):
            shape, strides, offset = tuple(content.shape), dense_strides(tuple(content.shape)), 0
        else:
            shape = tuple(content.shape)
        if settings.contiguous:
            if 0 in strides:
                content = _expanded(content, strides)
            strides, offset = dense_strides(shape), 0
        role = op.role(name)
        item = place(
            name,
            content,
            strides,
            offset,
            role=role,
            arena=arena,
            device=device,
            poison=settings.poison,
            allocator=settings.allocator,
            initialized=role is not Role.OUT,
        )
        placed[name] = item
        arguments[name] = item.tensor
        logical[name] = _expanded(content, strides) if 0 in strides and not settings.contiguous else content
    allocations = Allocations(arena, device, settings.poison, settings.allocator)
    observation = Observation(
        arena,
        order=settings.order,
        seed=settings.seed,
        dry=settings.dry,
        config=settings.config,
        tune=settings.tune,
        compiler=settings.compiler,
        waiting=waiting,
    )
    error: BaseException | None = None
    result: Any = None
    kind = runtime.prepare()
    state = _ProcessState()
    started = time.perf_counter()
    with observe(observation), intercept(allocations), _timed(kind):
        try:
            result = invoke(kernel, arguments, settings.meta)
            runtime.synchronize()
        except (KeyboardInterrupt, StopTest):
            raise
        except SystemExit as stop:
            error = KernelExit(f"the kernel called sys.exit({stop.code!r})")
        except BaseException as raised:  # what the kernel raises is the kernel's, pytest.skip() too
            if interrupted(raised):
                raise KeyboardInterrupt from raised
            error = raised
        finally:
            state.restore()
    seconds = time.perf_counter() - started
    if (unjudged := runtime.cannot_be_judged(error)) is not None:
        raise unjudged
    if isinstance(error, RuntimeError):
        _refuse_late_interpreter(error)
    return Started(
        op=op,
        call=call,
        settings=settings,
        values=logical,
        placed=placed,
        allocations=allocations.placed,
        observation=observation,
        result=result,
        error=error,
        seconds=seconds,
    )


def _timed(kind: runtime.Runtime) -> contextlib.AbstractContextManager[None]:
    """What ends a launcher that does not return; on a GPU, where it may compile for long, its process is ended."""
    return _watchdog.watch(CALL_SECONDS) if kind == "interpret" else contextlib.nullcontext()


class _ProcessState:
    """What a kernel may do to the process, as it is now: its default dtype would be the next kernel's false alarm."""

    __slots__ = ("deterministic", "dtype", "folder", "grad")

    def __init__(self) -> None:
        self.dtype, self.grad, self.folder = torch.get_default_dtype(), torch.is_grad_enabled(), os.getcwd()
        self.deterministic = torch.are_deterministic_algorithms_enabled()

    def restore(self) -> None:
        """Undo what the kernel has changed."""
        if torch.get_default_dtype() != self.dtype:
            torch.set_default_dtype(self.dtype)
        if torch.is_grad_enabled() != self.grad:
            torch.set_grad_enabled(self.grad)
        if torch.are_deterministic_algorithms_enabled() != self.deterministic:
            torch.use_deterministic_algorithms(self.deterministic)
        if os.getcwd() != self.folder:
            os.chdir(self.folder)


def _refuse_late_interpreter(error: RuntimeError) -> None:
    """Say so where a Triton kernel was decorated to be compiled before the interpreter was chosen.

    Raises:
        runtime.RuntimeUnavailable: the error is Triton's "0 active drivers".
    """
    if runtime.current() == "interpret" and "active drivers" in str(error):
        raise runtime.RuntimeUnavailable(
            "the kernel was imported before the interpreter was chosen, and asks for a GPU driver: import conformance "
            "before the module with the kernel, or set TRITON_INTERPRET=1"
        ) from error


def _fits(shape: tuple[int, ...], drawn: tuple[int, ...]) -> bool:
    """Whether a tensor of that shape can lie in the drawn strides."""
    return len(shape) == len(drawn) and all(n <= m for n, m in zip(shape, drawn, strict=True))


def _expanded(content: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """The values that a view with stride-0 axes shows: its first slice along each, repeated."""
    first = content[tuple(slice(0, 1) if s == 0 else slice(None) for s in strides)]
    return first.expand(content.shape).contiguous()


def _outputs(op: Op, placed: Mapping[str, Placed], result: Any) -> tuple[list[torch.Tensor], object]:
    """Mutated arguments in the op's order, then returned tensors that are not those; and what was no tensor."""
    outputs = [placed[name].tensor for name in op.mutates if name in placed]
    items = result if isinstance(result, (tuple, list)) else () if result is None else (result,)
    for item in items:
        if not isinstance(item, torch.Tensor):
            return outputs, item
        if not any(item is known or _same_view(item, known) for known in outputs[: len(op.mutates)]):
            outputs.append(item)
    return outputs, None


def _same_view(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.layout != torch.strided or one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.numel():
        return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)  # no element has an address
    return (
        one.data_ptr() == other.data_ptr()
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.dtype == other.dtype
        and one.numel() > 0
    )


def _named(events: list[Event], outputs: list[torch.Tensor], allocations: list[Placed]) -> list[Event]:
    """The events, with the allocations that the kernel returned called `output i`."""
    if not events:
        return events
    names = {}
    for i, output in enumerate(o for o in outputs if o.layout == torch.strided):
        for item in allocations:
            if output.untyped_storage().data_ptr() == item.address:
                names[item.name] = "output" if len(outputs) == 1 else f"output {i}"
    return [dataclasses.replace(e, argument=names.get(e.argument, e.argument)) for e in events]
