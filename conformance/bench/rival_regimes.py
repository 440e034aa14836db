"""How kernels are tested elsewhere, re-created: which calls are made, and when a result counts as wrong.

Every regime makes its calls for any op, runs the kernel as it is, and compares with torch in the same dtype. The only
typed tolerances besides those of `rivals`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import hypothesis
import numpy as np
import torch
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.extra import numpy as extra

import strategies as kst
from conformance.bench.rivals import ASSERT_CLOSE, FLAG_GEMS_ATOL, FLAG_GEMS_RTOL
from conformance.checking import choose_dtypes
from conformance.op import Op
from conformance.promises import Promises
from strategies import Call, TensorDescription

Arguments = dict[str, Any]
Close = Callable[[torch.Tensor, torch.Tensor, Arguments], bool]

# Triton's tutorials compare by torch.allclose with its defaults, the matrix product by atol=1e-2
TUTORIAL = (1e-5, 1e-8)
TUTORIAL_PRODUCT = (0.0, 1e-2)
# The bound that users of hypothesis.extra.numpy write, from the documentation of numpy.testing.assert_allclose, widened
# to what half precision keeps
ALLCLOSE = {torch.float32: (1e-4, 1e-5), torch.float16: (1e-2, 1e-3)}
# Elements of the largest tensor of a call: the interpreter needs a second for each million.
MOST = 2**17


# Whether the CPU seconds of the fault are spent: where a regime draws calls without end, it asks.
Spent = Callable[[], bool]


@dataclasses.dataclass(frozen=True)
class Regime:
    """A way to test: `calls(op, promises, spent)` gives test ids with arguments, a test id several times where one test
    makes several calls; `close(got, expected, arguments)` says if a result passes."""

    name: str
    calls: Callable[[Op, Promises, Spent], Iterator[tuple[str, Arguments]]]
    close: Close


def call_of(op: Op, promises: Promises, dtype: torch.dtype | None, sizes: Mapping[str, int]) -> Call | None:
    """A call with axes of those sizes where op and kernel leave them free, None where they have none."""
    drawn: list[Call] = []
    # the first draw is all zeros, the third has drawn indices and scalars
    settings = hypothesis.settings(
        max_examples=3, phases=[Phase.generate], database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    try:
        strategy = _calls(op, promises, dtype, sizes)
    except InvalidArgument:  # the op forbids these sizes, such as an empty table to look up in
        return None
    hypothesis.seed(0)(settings(hypothesis.given(strategy)(lambda call: drawn.append(call))))()
    return drawn[-1] if drawn else None


def _calls(op: Op, promises: Promises, dtype: torch.dtype | None, sizes: Mapping[str, int]) -> st.SearchStrategy[Call]:
    limits = dict(promises.limits)
    free = {
        name: kst.fixed(min(size, limits.get(name, size)))
        for name, size in sizes.items()
        if name not in op.axes or op.axes[name].kind == "sizes"
    }
    for name, axis in op.axes.items():
        if name in free:
            size = min(axis.max or sizes[name], sizes[name], limits.get(name, sizes[name]))
            free[name] = kst.fixed(max(axis.min, size) // axis.multiple * axis.multiple)
    return op.calls(dtype=dtype, layouts=("contiguous",), replaced=free, max_elements=MOST)


def arguments_of(call: Call, fill: Callable[[TensorDescription], torch.Tensor]) -> Arguments:
    """The arguments of a call, floating-point tensors filled by `fill`."""
    return {
        name: (fill(value) if value.dtype.is_floating_point else value.fill())
        if isinstance(value, TensorDescription)
        else value
        for name, value in call.arguments
    }


def _normal(value: TensorDescription) -> torch.Tensor:
    return torch.randn(value.shape).to(value.dtype)


def dtypes_of(op: Op, promises: Promises, *wanted: torch.dtype) -> list[torch.dtype | None]:
    """Those of the wanted dtypes that the kernel takes, at least one."""
    own = choose_dtypes(op, promises, None)
    return [dtype for dtype in own if dtype in wanted] or [own[0]]


def _tutorial(op: Op, promises: Promises, spent: Spent) -> Iterator[tuple[str, Arguments]]:
    """One call, as the tutorials make it: float32, sizes of which one is odd."""
    torch.manual_seed(0)
    names = sorted(op.axis_names())
    sizes = {name: (98432 % 1823 if len(names) == 1 else 123, 781, 64, 32)[i % 4] for i, name in enumerate(names)}
    for dtype in dtypes_of(op, promises, torch.float32):
        call = call_of(op, promises, dtype, sizes)
        if call is not None:
            yield f"{dtype}", arguments_of(call, _normal)


# Sizes of Liger-Kernel's tests (2, 8, 41, 423, 512) and FlagGems' (1, 16, 32, 160, 320, 1024), a few rows of them
_GRID = (
    (2, 8, 32, 16),
    (8, 41, 16, 1),
    (41, 423, 8, 2),
    (1, 1024, 32, 4),
    (16, 160, 160, 2),
    (1, 1, 32, 1),
    (15, 320, 64, 2),
)


def _grid(op: Op, promises: Promises, spent: Spent) -> Iterator[tuple[str, Arguments]]:
    """A parametrized grid of shapes and dtypes, normal values; each point is a test."""
    torch.manual_seed(0)
    names = sorted(op.axis_names())
    for dtype in dtypes_of(op, promises, torch.float16, torch.float32, torch.bfloat16):
        for row in _GRID:
            sizes = {name: row[(i + 1) % 4 if len(names) == 1 else i % 4] for i, name in enumerate(names)}
            call = call_of(op, promises, dtype, sizes)
            if call is not None:
                yield f"{dtype}-{row}", arguments_of(call, _normal)


def _opinfo(op: Op, promises: Promises, spent: Spent) -> Iterator[tuple[str, Arguments]]:
    """The sizes of OpInfo's samples (S=5, M=10, XS=3, one, empty), values of make_tensor, each strided as well; a test
    for each sample, though torch's own go through all in one."""
    torch.manual_seed(0)

    def made(value: TensorDescription) -> torch.Tensor:
        return torch.testing.make_tensor(value.shape, dtype=value.dtype, device="cpu")

    def strided(value: TensorDescription) -> torch.Tensor:
        return torch.testing.make_tensor(value.shape, dtype=value.dtype, device="cpu", noncontiguous=True)

    names = sorted(op.axis_names())
    for dtype in dtypes_of(op, promises, torch.float32, torch.float64):
        for sizes in ((5, 5), (10, 5), (3, 10), (1, 1), (5, 0), (0, 5)):
            call = call_of(op, promises, dtype, dict(zip(names, itertools.cycle(sizes), strict=False)))
            if call is not None:
                yield f"{dtype}-{sizes}", arguments_of(call, made)
                yield f"{dtype}-{sizes}-noncontiguous", arguments_of(call, strided)


# Calls that are drawn before they are made.
_BATCH = 25


def numpy_arrays(op: Op, promises: Promises, spent: Spent) -> Iterator[tuple[str, Arguments]]:
    """Hypothesis' own arrays: sizes up to 100, finite elements drawn one by one, a test in float32 and one in float16;
    batch after batch until the seconds are spent, and one of each at least."""
    drawn: list[Arguments] = []
    names = sorted(op.axis_names())

    @st.composite
    def arguments(draw: Any, dtype: torch.dtype | None) -> Arguments:
        sizes = {name: draw(st.integers(1, 100 if len(names) < 3 else 25)) for name in names}
        call = draw(_calls(op, promises, dtype, sizes))
        return arguments_of(call, lambda value: _drawn(draw, value))

    settings = hypothesis.settings(
        max_examples=_BATCH,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    for seed in itertools.count():
        for dtype in dtypes_of(op, promises, torch.float32, torch.float16):
            hypothesis.seed(seed)(settings(hypothesis.given(arguments(dtype))(lambda each: drawn.append(each))))()
            for each in drawn:
                yield f"{dtype}", each
            drawn.clear()
            if seed and spent():
                return
        if spent():
            return


def _drawn(draw: Any, value: TensorDescription) -> torch.Tensor:
    width = 16 if value.dtype == torch.float16 else 32
    elements = st.floats(-1000.0, 1000.0, width=width)  # type: ignore[arg-type]
    array = draw(extra.arrays(np.float16 if width == 16 else np.float32, value.shape, elements=elements))
    return torch.from_numpy(np.array(array)).to(value.dtype)


def _close(got: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> bool:
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if not got.dtype.is_floating_point:
        return bool(torch.equal(got, expected))
    return bool(torch.allclose(got.double(), expected.double(), rtol=rtol, atol=atol, equal_nan=True))


def _tutorial_close(got: torch.Tensor, expected: torch.Tensor, arguments: Arguments) -> bool:
    return _close(got, expected, *(TUTORIAL_PRODUCT if {"a", "b"} <= set(arguments) else TUTORIAL))


def _flag_gems_close(got: torch.Tensor, expected: torch.Tensor, arguments: Arguments) -> bool:
    first = next(value for value in arguments.values() if isinstance(value, torch.Tensor))
    reduced = first.shape[-1] if first.dim() and {"a", "b"} <= set(arguments) else 1
    return _close(got, expected, FLAG_GEMS_RTOL.get(got.dtype, 0.0), FLAG_GEMS_ATOL * max(reduced, 1))


def _assert_close(got: torch.Tensor, expected: torch.Tensor, arguments: Arguments) -> bool:
    return _close(got, expected, *ASSERT_CLOSE.get(got.dtype, (0.0, 0.0)))


def allclose(got: torch.Tensor, expected: torch.Tensor, arguments: Arguments) -> bool:
    """Whether the result is within the tolerance that users of `hypothesis.extra.numpy` write."""
    return _close(got, expected, *ALLCLOSE.get(got.dtype, ALLCLOSE[torch.float32]))


REGIMES: tuple[Regime, ...] = (
    Regime("one allclose, as in the tutorials", _tutorial, _tutorial_close),
    Regime("a grid of shapes, as Liger and FlagGems have", _grid, _flag_gems_close),
    Regime("OpInfo samples with assert_close", _opinfo, _assert_close),
    Regime("hypothesis.extra.numpy arrays", numpy_arrays, allclose),
)


def objects(regime: Regime, op: Op, kernel: Callable[..., Any], arguments: Arguments) -> bool:
    """Whether the regime fails the kernel on one call: a result that is not close, or anything raised."""
    fresh = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
    expected = op.reference(*(fresh[name] for name in op.reference_names))
    if expected is None:
        expected = tuple(fresh[name] for name in op.mutates)
    try:
        result = kernel(*arguments.values())
    except (Exception, SystemExit):  # noqa: BLE001 - in these regimes a test fails by whatever the kernel raises
        return True
    wanted = expected if isinstance(expected, (tuple, list)) else (expected,)
    mutated = [arguments[name] for name in op.mutates]
    returned = list(result) if isinstance(result, (tuple, list)) else [] if result is None else [result]
    got = [*mutated, *[r for r in returned if not any(r is m for m in mutated)]]
    return len(got) != len(wanted) or not all(regime.close(g, w, arguments) for g, w in zip(got, wanted, strict=True))
