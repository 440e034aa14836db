"""Speed of the shipped kernels on a CUDA device, beside torch (cuBLAS) and the measured copy bandwidth."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import pathlib
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

REPLAYS = 20
# The rotating sets exceed the L2 cache this many times together, so that no launch finds its data there
CACHES = 4
LEAST_SETS = 2
# Of a memory-bound call. An H200 reads and writes 2**25 float16 in 31 us, of which starting a launch and filling the
# device are a tenth; here they are a fortieth
ELEMENTS = 2**27
COPY_BYTES = 2**32

Launcher = Callable[..., torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Case:
    """One call to time: `draw` makes its arguments; a launch moves `moved` bytes or computes `flops` operations."""

    op: str
    shape: str
    dtype: torch.dtype
    draw: Callable[[], tuple[torch.Tensor, ...]]
    moved: int
    flops: int = 0


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the result; `reason` says why there is no time.

    `rate` is in GB/s, for matmul in TFLOP/s; `ratio` is `rate` over the copy bandwidth, for matmul over torch's rate.
    """

    op: str
    shape: str
    dtype: str
    kernel: str
    ms: float | None = None
    rate: float | None = None
    ratio: float | None = None
    reason: str = ""


def cases() -> Iterator[Case]:
    """The calls that are timed: memory-bound ones of ELEMENTS, matrix products of 4096 and 8192."""
    halves, singles = (torch.float16, torch.bfloat16), (torch.float32,)
    for dtype in (*halves, *singles):
        yield _elementwise(dtype, ELEMENTS)
        for columns in (256, 1024, 4096, 8192, 65536):
            yield from _rows(dtype, ELEMENTS // columns, columns)
    for dtype in halves:
        for side in (4096, 8192):
            yield _product(dtype, side)
    yield _product(torch.float32, 4096)


def _elementwise(dtype: torch.dtype, count: int) -> Case:
    return Case(
        "vector_add",
        str(count),
        dtype,
        lambda: (_normal(dtype, count), _normal(dtype, count)),
        3 * count * dtype.itemsize,
    )


def _rows(dtype: torch.dtype, rows: int, columns: int) -> Iterator[Case]:
    shape, moved = f"{rows}x{columns}", 2 * rows * columns * dtype.itemsize
    yield Case("softmax", shape, dtype, lambda: (_normal(dtype, rows, columns),), moved)
    yield Case(
        "rms_norm",
        shape,
        dtype,
        lambda: (_normal(dtype, rows, columns), _normal(dtype, columns)),
        moved + columns * dtype.itemsize,
    )


def _product(dtype: torch.dtype, side: int) -> Case:
    def draw() -> tuple[torch.Tensor, ...]:
        return _normal(dtype, side, side), _normal(dtype, side, side)

    return Case("matmul", f"{side}x{side}x{side}", dtype, draw, 3 * side * side * dtype.itemsize, 2 * side**3)


def _normal(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    # random data: on zeros a device draws less power and clocks higher
    return torch.randn(shape, device="cuda", dtype=dtype)


def _torch_launchers() -> dict[str, Launcher]:
    def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-6)  # the eps that the kernels default to

    def softmax(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)

    return {"vector_add": torch.add, "softmax": softmax, "rms_norm": rms_norm, "matmul": torch.matmul}


# The steps that lead to `matmul`; the first ones would need minutes for the larger products
MATMUL_STEPS = ("matmul_naive", "matmul_tiled", "matmul_registers", "matmul_async", "matmul_wmma", "matmul_wgmma")
MOST_STEP_FLOPS = 2 * 4096**3


def contenders(case: Case) -> Iterator[tuple[str, Callable[[], Launcher]]]:
    """Names of what computes the case, each with a function that finds it (and raises where it is missing)."""
    op = case.op
    yield "torch", lambda: _torch_launchers()[op]
    yield f"kernels_triton.{op}", lambda: _attribute("kernels_triton", op, op)
    steps = MATMUL_STEPS if op == "matmul" and case.flops <= MOST_STEP_FLOPS else ()
    for name in (op, *steps):
        yield f"kernels_cuda.{op}.{name}", functools.partial(_attribute, "kernels_cuda", op, name)


def _attribute(package: str, module: str, name: str) -> Launcher:
    launcher: Launcher = getattr(importlib.import_module(f"{package}.{module}"), name)
    return launcher


def seconds(launches: Sequence[Launcher], sets: list[tuple[torch.Tensor, ...]]) -> list[float]:
    """Seconds of a launch of each of `launches`, on arguments from `sets` in turn: the median of REPLAYS passes.

    A pass over the sets is a CUDA graph, timed by events: nothing of Python's time is in it. Every result is kept until
    the end, so that results rotate as the arguments do. The launches take turns: a device that slows down as it gets
    hot slows all of them.
    """
    graphs, results = [], []
    for launch in launches:
        for arguments in sets[:LEAST_SETS]:
            launch(*arguments)  # compiles and tunes, which a capture must not see
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results.append([launch(*arguments) for arguments in sets])
        graph.replay()
        graphs.append(graph)
    times: list[list[float]] = [[] for _ in launches]
    for _ in range(REPLAYS):
        for graph, taken in zip(graphs, times, strict=True):
            taken.append(_timed(graph.replay))
    del results
    return [statistics.median(taken) / len(sets) for taken in times]


def _timed(work: Callable[[], object]) -> float:
    """Seconds between an event before and one after `work`, which a device does."""
    start, end = _event(), _event()
    start.record()
    work()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _sets(draw: Callable[[], tuple[torch.Tensor, ...]], moved: int) -> list[tuple[torch.Tensor, ...]]:
    cache = torch.cuda.get_device_properties().L2_cache_size
    return [draw() for _ in range(max(LEAST_SETS, -(-CACHES * cache // moved)))]


def copy_bandwidth() -> float:
    """Bytes per second, read and written together, of torch's copy of 4 GiB: the median of REPLAYS.

    Not in a CUDA graph, where a copy is a node of its own kind: on an H200 it had 2.7 TB/s there, and 4.3 outside.
    """
    source = torch.randn(COPY_BYTES // 4, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    return 2 * COPY_BYTES / statistics.median(_timed(lambda: target.copy_(source)) for _ in range(REPLAYS))


def measure(case: Case, copy: float) -> Iterator[Row]:
    """A row for each contender of the case; one that is missing or fails has a reason in place of its time."""
    dtype = str(case.dtype).removeprefix("torch.")
    torch.manual_seed(0)
    sets = _sets(case.draw, case.moved)
    baseline = copy
    reasons: dict[str, str] = {}
    able: dict[str, Launcher] = {}
    for name, find in contenders(case):
        try:
            able[name] = find()
            able[name](*sets[0])
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001  whatever it is, it is the row's reason, and the others go on
            able.pop(name, None)
            reasons[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    took = dict(zip(able, seconds(list(able.values()), sets), strict=True))
    if case.flops and "torch" in took:
        baseline = case.flops / took["torch"]
    for name, _ in contenders(case):
        if name in reasons:
            yield Row(case.op, case.shape, dtype, name, reason=reasons[name])
            continue
        speed = (case.flops or case.moved) / took[name]
        rate = speed / (1e12 if case.flops else 1e9)
        yield Row(case.op, case.shape, dtype, name, took[name] * 1e3, rate, speed / baseline)


def main(json_path: str | pathlib.Path | None = None, *, op: str | None = None) -> list[Row]:
    """The rows of every case, or of those of one `op`; prints them as a table, and writes them to `json_path` if given.

    Raises RuntimeError without a CUDA device.
    """
    if not torch.cuda.is_available():
        raise RuntimeError("the speed of kernels is measured on a CUDA device, and torch sees none")
    torch.backends.cuda.matmul.allow_tf32 = False
    console = Console(width=None if sys.stdout.isatty() else 140)
    copy = copy_bandwidth()
    console.print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: copy {copy / 1e9:.0f} GB/s")
    rows: list[Row] = []
    for case in cases():
        if op in (None, case.op):
            rows += measure(case, copy)
            torch.cuda.empty_cache()
    console.print(_table(rows))
    if json_path is not None:
        record: dict[str, Any] = {
            "device": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "copy_gb_s": copy / 1e9,
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        pathlib.Path(json_path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return rows


def _table(rows: list[Row]) -> Table:
    table = Table("op", "shape", "dtype", "kernel", "ms", "GB/s or TFLOP/s", "of copy or cuBLAS", "reason")
    for row in rows:
        figures = [
            "" if row.ms is None else f"{row.ms:.4f}",
            "" if row.rate is None else f"{row.rate:.1f}",
            "" if row.ratio is None else f"{row.ratio:.3f}",
        ]
        table.add_row(row.op, row.shape, row.dtype, row.kernel, *figures, row.reason)
    return table
