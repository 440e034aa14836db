"""One kernel on trial for one op: launches it, encloses the reference, judges values, words findings."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from conformance import balls, runtime
from conformance.device import fence, policy, watch
from conformance.failures import Finding, ValueEvidence
from conformance.launch import Kernel, Launch, Settings, invoke, launch
from conformance.memory import lazy, plain
from conformance.observation import Geometry
from conformance.op import Op, OpError
from conformance.oracles.objection import Objection
from conformance.promises import Promises
from conformance.report.snippet import script
from strategies import Call

if TYPE_CHECKING:
    from conformance.device.judge import Remote

# Wrong elements kept for the picture of a finding; more would not be seen.
_KEPT = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluated:
    """The tensors that the reference returns, and which of them lie, in the reference too, in an argument's memory."""

    outputs: tuple[torch.Tensor, ...]
    aliases: frozenset[int]


class Expected:
    """What the reference says of one set of values: a ball for each output, and torch's own result for who asks."""

    __slots__ = ("_evaluate", "_evaluated", "balls")

    def __init__(self, enclosed: list[balls.Ball], evaluate: Callable[[], Evaluated]) -> None:
        self.balls = enclosed
        self._evaluate = evaluate
        self._evaluated: Evaluated | None = None

    @property
    def torch(self) -> Evaluated:
        """What torch itself makes of the values."""
        if self._evaluated is None:
            self._evaluated = self._evaluate()
        return self._evaluated


@dataclasses.dataclass
class Tightness:
    """How close results came to their bounds, over the launches of a case: (elements, error over bound) pairs.

    Launches without a bound other than zero have no ratio. `biases` are the mean errors over bound of the others.
    """

    points: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    biases: list[float] = dataclasses.field(default_factory=list)
    undecided: float = 0.0  # the shares of undecided elements, summed over the launches
    judged: int = 0

    def add(self, verdict: balls.Verdict) -> None:
        """Count one verdict."""
        if verdict.total:
            self.undecided += verdict.undecided / verdict.total
            self.judged += 1
        if verdict.total > verdict.undecided and (verdict.bounded or not verdict.ok):
            self.points.append((verdict.total, verdict.ratio))
            if verdict.ok:
                self.biases.append(verdict.bias)

    def last(self) -> float | None:
        """The ratio of the newest launch, for Hypothesis to climb; None where there is none, or it is infinite."""
        return self.points[-1][1] if self.points and math.isfinite(self.points[-1][1]) else None

    def mark(self) -> tuple[int, int, float, int]:
        """Where `back` returns to."""
        return len(self.points), len(self.biases), self.undecided, self.judged

    def back(self, mark: tuple[int, int, float, int]) -> None:
        """Forget what was counted since a mark."""
        points, biases, self.undecided, self.judged = mark
        del self.points[points:], self.biases[biases:]

    def clear(self) -> None:
        """Forget everything: a new case begins."""
        self.points.clear()
        self.biases.clear()
        self.undecided, self.judged = 0.0, 0


class Trial:
    """A kernel, the op that it claims to compute, and its promises."""

    def __init__(
        self,
        op: Op,
        kernel: Kernel,
        promises: Promises | None = None,
        *,
        name: str | None = None,
        meta: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        self.op = op
        self.kernel = kernel
        self.promises = promises or op.promises
        self.name = name or kernel_name(kernel)
        self.meta = meta
        self.tightness = Tightness()
        self.launched: tuple[Geometry, ...] | None = None  # by the first run since it was None: the call as drawn
        self._in_place = False  # the reference changes its arguments, as the kernel does, and returns nothing
        self.compiled_for: set[tuple[torch.dtype | None, bool]] = set()  # what `device.precompile` has done
        self.remote: Remote | None = None  # where the trial's calls run in child processes
        # launches that were made before the calls are judged (`flight`), by identity: it takes long to hash a call
        self.ahead: dict[int, Launch] = {}
        self.flies: bool | None = None  # whether the kernel's launches can be made so; None: not known yet
        self.ended = False  # whether a launch of the case did not raise
        self.raised: Launch | None = None  # the first of the case that did
        self._evaluated_for: set[tuple[Any, ...]] = set()  # the types of arguments that torch has evaluated
        self._expected: tuple[Launch, Expected] | None = None

    def launch(
        self, call: Call, settings: Settings | None = None, *, values: Mapping[str, torch.Tensor] | None = None
    ) -> Launch:
        """The record of one run of the kernel."""
        if self.ahead and settings is None and values is None and (flown := self.ahead.pop(id(call), None)) is not None:
            return self._noted(flown)
        settings = settings or Settings()
        if self.meta and not settings.meta:
            settings = dataclasses.replace(settings, meta=self.meta)
        if settings.allocator is plain and policy.current().fence and fence.unavailable(runtime.device()) is None:
            promised = self.promises.layouts
            unaligned = not settings.contiguous and (promised is None or "offset" in promised)
            allocator = fence.for_call(runtime.device(), call, unaligned=unaligned)
            settings = dataclasses.replace(settings, allocator=allocator)
        with watch.timed():
            done = launch(self.kernel, self.op, call, settings, values=values)
        return self._noted(done)

    def _noted(self, done: Launch) -> Launch:
        if self.launched is None:
            self.launched = tuple(done.geometry)
        if done.error is None:
            self.ended = True
        elif self.raised is None and not done.settings.dry:
            self.raised = done
        return done

    def land(self) -> None:
        """Launch each call by itself from now on."""
        self.flies = False
        self.ahead.clear()

    @property
    def layout_invariant(self) -> bool:
        """Whether strided arguments must give the bits of their contiguous copies, and not only a right result.

        Triton compiles a stride of 1 and any other, and pointers aligned to 16 bytes and any other, to different thread
        layouts, whose reductions differ in order: on a GPU equal bits are a promise.
        """
        promised = self.promises.layout_invariant
        return runtime.current() == "interpret" if promised is None else promised

    def geometry(self, call: Call) -> tuple[Geometry, ...]:
        """The launches that the kernel makes for a call; nothing runs on the device."""
        if self.remote is not None:
            return self.remote.geometry(call)
        # rows 2**31 elements apart are more than the memory of most machines
        allocator = lazy if runtime.current() == "interpret" else plain
        return tuple(self.launch(call, Settings(allocator=allocator, dry=True)).geometry)

    def expected(self, launch: Launch) -> Expected:
        """What the reference says of the launch's values; computed once a launch.

        Raises:
            OpError: the reference raises, or does not return tensors.
        """
        if self._expected is not None and self._expected[0] is launch:
            return self._expected[1]
        arguments = self.op.reference_arguments(launch.call, launch.values)

        def evaluate() -> Evaluated:
            try:
                return self.reference(arguments)
            except OpError as error:
                empty = [name for name, size in launch.call.sizes.items() if size == 0]
                if not empty:
                    raise
                given = ", ".join(f"{name!r}: kst.sizes(min=1)" for name in empty)
                raise OpError(f"{error}; no axis of 0 is drawn with axes={{{given}}}") from error

        signature = tuple([v.dtype if isinstance(v, torch.Tensor) else type(v) for v in arguments.values()])
        plain = None
        if signature not in self._evaluated_for:  # what is wrong with an op shows at its first call
            plain = evaluate()
            self._evaluated_for.add(signature)
        result = Expected(self._enclose(arguments, plain, evaluate), evaluate)
        self._expected = (launch, result)
        return result

    def _enclose(
        self, arguments: Mapping[str, Any], plain: Evaluated | None, evaluate: Callable[[], Evaluated]
    ) -> list[balls.Ball]:
        changed = [self.op.reference_names.index(n) for n in self.op.mutates] if self._in_place else []
        try:
            # floats become balls, which are copies
            own = [
                v.clone() if isinstance(v, torch.Tensor) and not v.is_floating_point() else v
                for v in arguments.values()
            ]
            enclosed = balls.enclose(self._positional, own, self.promises, mutates=changed)
        except Exception as error:
            evaluate()  # where torch cannot evaluate it either, that is what there is to say
            raise OpError(
                f"no bound can be derived from the reference of {self.op.name}, {type(error).__name__}: {error}; use "
                "torch operations on the arguments throughout"
            ) from error
        for ball, result in zip(enclosed, plain.outputs if plain is not None else (), strict=False):
            if ball.dtype != result.dtype:
                raise OpError(
                    f"the reference of {self.op.name} leaves torch: its result is {result.dtype}, and {ball.dtype} "
                    "where bounds are derived; use torch operations on the arguments throughout"
                )
        return enclosed

    def reference(self, arguments: Mapping[str, Any]) -> Evaluated:
        """What torch's own evaluation of the reference gives.

        Raises:
            OpError: the reference raises, or does not return tensors.
        """
        fresh = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
        try:
            result = invoke(self.op.reference, fresh)
        except (Exception, SystemExit) as error:
            raise OpError(f"the reference of {self.op.name} raised {type(error).__name__}: {error}") from error
        if result is None and self.op.mutates:
            self._in_place = True
            result = tuple(fresh[n] for n in self.op.mutates)
        items = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        for item in items:
            if not isinstance(item, torch.Tensor):
                raise OpError(
                    f"the reference of {self.op.name} returned a {type(item).__name__}; it must return a tensor "
                    "or a tuple of tensors"
                )
        given = {v.untyped_storage().data_ptr() for v in fresh.values() if isinstance(v, torch.Tensor) and v.numel()}
        aliases = frozenset(
            i for i, t in enumerate(items) if t.layout == torch.strided and t.untyped_storage().data_ptr() in given
        )
        return Evaluated(tuple(t.detach() for t in items), aliases)

    def _positional(self, *values: Any) -> Any:
        names = self.op.reference_names
        return invoke(self.op.reference, dict(zip(names, values, strict=True)))

    def judge(self, launch: Launch) -> ValueEvidence | None:
        """The evidence against the worst output, None if every element is inside its ball.

        Outputs whose number, shape or dtype is wrong are the oracle `metadata`'s.
        """
        if launch.error is not None:
            return None
        expected = self.expected(launch)
        worst: ValueEvidence | None = None
        for i, (got, ball) in enumerate(zip(launch.outputs, expected.balls, strict=False)):
            if got.shape != ball.shape or got.dtype != ball.dtype:
                continue
            verdict = balls.judge(got.cpu() if got.is_cuda else got, ball, self.promises)
            self.tightness.add(verdict)
            if not verdict.ok and (worst is None or verdict.ratio > worst.ratio):
                worst = evidence(i, got, verdict)
        return worst

    def finding(self, objection: Objection, call: Call) -> Finding:
        """The objection with everything needed to show it and to run it again."""
        geometry = () if objection.failure.oracle == "refusals" else self.geometry(call)
        return Finding(
            oracle=objection.failure.oracle,
            law=objection.law,
            op=self.op.name,
            kernel=self.name,
            summary=objection.summary,
            call=call.to_json(),
            script=script(
                self.kernel,
                call,
                self.op,
                runtime=runtime.current(),
                meta=self.meta,
                oracle=objection.failure.oracle,
                unseen=objection.value is not None and math.isnan(objection.value.got),
                promises=self.promises,
            ),
            events=objection.events,
            value=objection.value,
            notes=objection.notes,
            runtime=runtime.current(),
            geometry=geometry,
        )


def evidence(output: int, got: torch.Tensor, verdict: balls.Verdict) -> ValueEvidence:
    """The verdict in the form that findings keep."""
    return ValueEvidence(
        output=output,
        index=tuple(int(k) for k in verdict.index),
        shape=tuple(got.shape),
        dtype=str(got.dtype).removeprefix("torch."),
        got=float(verdict.got),
        exact=float(verdict.exact),
        low=float(verdict.low),
        high=float(verdict.high),
        ratio=float(verdict.ratio),
        ulp=float(verdict.ulp) if math.isfinite(verdict.ulp) else math.inf,
        wrong_count=len(verdict.wrong),
        wrong=tuple(int(k) for k in verdict.wrong[:_KEPT]),
        heuristic=bool(verdict.heuristic),
    )


def kernel_name(kernel: Kernel) -> str:
    """The name of a kernel in reports: its module and its own name."""
    inner = kernel
    while hasattr(inner, "func"):  # functools.partial
        inner = inner.func
    name = getattr(inner, "__qualname__", type(inner).__name__)
    module = getattr(inner, "__module__", None)
    return f"{module}.{name}" if module and module != "__main__" else name
