"""Programs for CuPy's raw kernels in the styles that people write: right results, and no alarm in any order."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from conformance.emulator import CompileError, NotModelled, unwritten
from conformance.emulator.cupy_module import module
from conformance.observation import Observation, observe
from conformance.regions import Arena, Region, Role

FOLDER = pathlib.Path(__file__).parent / "raw"
cupy = module()
generator = torch.Generator().manual_seed(0)


def integers(*shape: int, low: int = -8, high: int = 8, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def reals(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator)


@dataclasses.dataclass(frozen=True)
class Raw:
    """A launch of `kernel` of `file`: on `inputs`, tensors that it updates in place, `outputs`, and further arguments.

    `expected` gives the outputs (or, where there are none, what is updated) from the inputs, and `bound` how far a
    result may lie from it: 0, but where it depends on the errors of a mathematical function.
    """

    file: str
    kernel: str
    grid: Any
    block: Any
    inputs: Sequence[torch.Tensor]
    outputs: Sequence[torch.Tensor]
    further: Sequence[Any]
    expected: Callable[..., Sequence[torch.Tensor]]
    updates: Sequence[torch.Tensor] = ()
    shared: int = 0
    names: Sequence[str] = ()
    bound: float = 0.0


def _histogram(x: torch.Tensor) -> list[torch.Tensor]:
    bins = torch.cat([torch.bincount(x.long(), minlength=256), torch.tensor([x.numel()])]).int()
    seen = 0
    for value in x.tolist():
        seen |= 1 << (value & 63)
    return [
        bins,
        x.double().sum()[None],
        x.float().max()[None],
        torch.tensor([seen - (1 << 64) if seen >> 63 else seen]),
    ]


def _groups(x: torch.Tensor) -> list[torch.Tensor]:
    lanes = torch.nn.functional.pad(x, (0, 84)).view(3, 128).sum(0)
    return [torch.cat([lanes.sum()[None], lanes.view(4, 32).sum(1)])]


def _laplace(x: torch.Tensor) -> list[torch.Tensor]:
    p = torch.nn.functional.pad(x[None], (1, 1, 1, 1), mode="replicate")[0]
    return [p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x]


def _misc(x: torch.Tensor) -> list[torch.Tensor]:
    result = torch.empty_like(x)
    result[(torch.arange(64) * 5 + 3) % 64] = -x
    return [result]


def _functions(x: torch.Tensor) -> list[torch.Tensor]:
    v = x.double()
    steps = v.floor() + v.ceil() + v.trunc() + (v + 0.5).floor() + v.round()
    table = (torch.arange(16) % 4 + 1).double()
    columns = [v.exp(), v.rsqrt(), v * v + 1, v / 2, v.erf(), v.tanh(), v.lgamma(), v.log1p(), v.expm1(), v ** (1 / 3)]
    columns += [(v * v + 1).sqrt(), v**1.5, v**2, v.sin(), v.cos(), torch.atan2(v, torch.full_like(v, 2)), v.rsqrt()]
    columns += [v.sigmoid(), -torch.ones_like(v), steps, v, v.round(), v, table]
    return [torch.stack(columns, 1)]


def _fp8(x: torch.Tensor) -> list[torch.Tensor]:
    scale = x.abs().amax(1) / 448
    return [(x / scale[:, None]).to(torch.float8_e4m3fn).view(torch.uint8), scale]


def _paged(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pages: torch.Tensor, lengths: torch.Tensor) -> list[Any]:
    rows = []
    for query, table, length in zip(q.double(), pages.tolist(), lengths.tolist(), strict=True):
        keys, values = (torch.cat([c[page] for page in table], 1)[:, :length].double() for c in (k, v))
        rows.append(((query[:, None] * keys).sum(2) * 0.125).softmax(1)[:, None] @ values)
    return [torch.stack(rows).squeeze(2)]


def _params() -> np.ndarray[Any, Any]:
    params = np.zeros((), np.dtype([("row_stride", "i8"), ("cols", "i4"), ("scale", "f4")]))
    params["row_stride"], params["cols"], params["scale"] = 200, 200, 1.0
    return params


def _raws() -> Iterator[Raw]:
    n = 128
    x, empty = reals(n), torch.empty(n)
    for name in ("shfl_types", "headers", "big_local", "async_pipeline", "flat_shared", "philox", "coalesced"):
        expected: Callable[..., Sequence[torch.Tensor]] = {
            "shfl_types": lambda x: [x.view(-1, 2).flip(1).reshape(-1)],
            "big_local": lambda x: [x.sum().expand(128)],
            "async_pipeline": lambda x: [x.flip(0)],
            "coalesced": lambda x: [(x > 0).float()],
        }.get(name, lambda x: [x])
        yield Raw(name, name, 1, n, [integers(n) if name == "big_local" else x], [empty], [n], expected)
    a, b = integers(1000), integers(1000)
    saxpy = [np.float32(2.5), np.uint64(1000)]
    yield Raw("saxpy", "saxpy", 3, 256, [a, b], [torch.empty(1000)], saxpy, lambda a, b: [2.5 * a + b])
    instance = "block_sum<float, 256>"
    sums: Callable[..., Sequence[torch.Tensor]] = lambda a: [torch.stack([a[:512].sum(), a[512:].sum()])]  # noqa: E731
    yield Raw("template_reduce", instance, 2, 256, [a], [torch.empty(2)], [1000], sums, (), 1024, (instance,))
    half = reals(n).half()
    gelu: Callable[..., Sequence[torch.Tensor]] = lambda h: [torch.nn.functional.gelu(h.float()).half()]  # noqa: E731
    yield Raw("half2", "gelu_half2", 1, 64, [half], [torch.empty(n).half()], [64], gelu, bound=4e-3)  # 4 ulp at 2
    yield Raw("half2", "scale4", 1, 32, [a[:256]], [torch.empty(256)], [np.float32(3), 64], lambda a: [3 * a])
    signed = torch.tensor([(-1) ** i * i for i in range(32)], dtype=torch.int32)
    kept = torch.nn.functional.pad(signed[signed > 0], (0, 17))
    compact = [torch.zeros(32, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)]
    yield Raw("compact", "compact", 1, 64, [signed], [], [32], lambda _: [kept, torch.tensor([15])], compact)
    c = integers(300)
    yield Raw("groups", "cg_sum", 1, 128, [c], [torch.empty(5)], [300], _groups, (), 512)
    picture = integers(13, 21)
    yield Raw("stencil", "laplace", (3, 2), (8, 8), [picture], [torch.empty(13, 21)], [13, 21, 21], _laplace)
    positive = torch.rand(16, generator=generator) * 3 + 0.1
    # the bound is that of the first-order inverse square root of the text, 0.2 %
    yield Raw("functions", "zoo", 1, 32, [positive], [torch.empty(16, 24)], [16], _functions, bound=0.02)
    data = integers(1000, low=0, high=256, dtype=torch.uint8)
    kinds = ((257, torch.int32), (1, torch.float64), (1, torch.float32), (1, torch.int64))
    totals = [torch.zeros(size, dtype=dtype) for size, dtype in kinds]
    yield Raw("histogram", "hist", 4, 64, [data], [], [1000], _histogram, totals)
    most = [torch.full((1,), -torch.inf)]
    yield Raw("top", "top", 4, 64, [reals(200)], [], [200], lambda x: [x.max()[None]], most)
    rows = reals(6, 200).bfloat16()
    softmax: Callable[..., Sequence[torch.Tensor]] = lambda x: [torch.softmax(x.float(), -1)]  # noqa: E731
    yield Raw("softmax", "softmax128", (3, 2), 128, [rows], [torch.empty_like(rows)], [_params()], softmax, bound=2**-8)
    words = integers(64, low=-100, high=100, dtype=torch.int32)
    yield Raw("misc", "misc", 1, 32, [words], [torch.empty_like(words)], [64, 1], _misc)
    keys = integers(100, low=0, high=8, dtype=torch.int32)
    counted: Callable[..., Sequence[torch.Tensor]] = lambda k: [torch.bincount(k, minlength=8)]  # noqa: E731
    zeros = [torch.zeros(8, dtype=torch.int32)]
    yield Raw("warp_aggregate", "warp_aggregate", 1, 128, [keys], [], [100], counted, zeros)
    cube, sizes = reals(5, 6, 7), np.array((7, 6, 5), "i4,i4,i4")
    values = [sizes, np.zeros((), "i4,i4,i4"), np.array((2.0, 1.0), "f4,f4")]
    twice: Callable[..., Sequence[torch.Tensor]] = lambda x: [2 * x + 1]  # noqa: E731
    yield Raw("grid3d", "grid3d", (2, 2, 3), (4, 4, 2), [cube], [torch.empty_like(cube)], values, twice)
    rows, scales = reals(5, 256), torch.empty(5)
    codes = torch.empty(5, 256, dtype=torch.uint8)
    yield Raw("fp8_rows", "fp8_rows", 5, 64, [rows], [codes, scales], [256], _fp8)
    q, caches = reals(2, 3, 64).half(), [reals(6, 3, 16, 64).half() for _ in range(2)]
    pages, lengths = torch.tensor([[3, 1, 0], [5, 2, 4]], dtype=torch.int32), torch.tensor([37, 20], dtype=torch.int32)
    instance = "paged_attention<half, 64, 16, 128>"
    inputs, further = [q, *caches, pages, lengths], [np.float32(0.125), 3]
    out = [torch.empty_like(q)]
    # the bound is twice the rounding of the result to half
    yield Raw("paged_attention", instance, (3, 2), 128, inputs, out, further, _paged, (), 192, (instance,), 2**-10)
    left, right = integers(20, 30), integers(30, 17)
    product: Callable[..., Sequence[torch.Tensor]] = lambda a, b: [a @ b]  # noqa: E731
    out = [torch.empty(20, 17)]
    yield Raw("tiled_matmul", "tiled_matmul", (2, 2), (16, 16), [left, right], out, [20, 17, 30], product)


RAWS = list(_raws())


@pytest.mark.parametrize("order", ["row", "reverse", "random", "fast"])
@pytest.mark.parametrize("raw", RAWS, ids=lambda raw: raw.kernel)
def test_raw_kernel_is_right_and_raises_no_alarm(raw: Raw, order: Any) -> None:
    text = (FOLDER / f"{raw.file}.cu").read_text()
    backend = "nvcc" if raw.file == "softmax" else "nvrtc"  # its INFINITY comes from nvcc's own headers
    program = cupy.RawModule(code=text, backend=backend, name_expressions=raw.names, options=("-std=c++17",))
    inputs, updates = [t.clone() for t in raw.inputs], [t.clone() for t in raw.updates]
    outputs = [torch.full_like(t, 99) for t in raw.outputs]
    arena = Arena()
    for role, tensors in ((Role.IN, inputs), (Role.INOUT, updates), (Role.OUT, outputs)):
        for i, tensor in enumerate(tensors):
            arena.add(Region(f"{role.value} {i}", tensor, role, initialized=role is not Role.OUT))
    arguments = (*map(cupy.asarray, [*inputs, *updates, *outputs]), *raw.further)
    kernel = program.get_function(raw.kernel)
    if order == "fast":
        kernel(raw.grid, raw.block, arguments, shared_mem=raw.shared)
    else:
        with observe(Observation(arena, order=order, seed=1)) as seen:
            kernel(raw.grid, raw.block, arguments, shared_mem=raw.shared)
        assert seen.events == []
        assert all(unwritten(region)[0] == 0 for region in arena if region.role is Role.OUT)
    for found, expected in zip(outputs or updates, raw.expected(*raw.inputs), strict=True):
        assert (found.double() - expected.double()).abs().max() <= raw.bound * expected.double().abs().max()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'void k(float* x) { unsigned r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); x[r] = 1; }',
            r"^cannot be judged on a CPU: inline PTX `mov.u32 %0, %%laneid;` \(source given as a string:1\): ",
        ),
        ('void k() { asm volatile("bar.sync 1, 64;" ::: "memory"); }', r"in its place: emu_bar_sync\("),
        ('void k(float* x) { float r; asm("ex2 %0, %1;" : "=f"(r) : "f"(x[0])); x[0] = r; }', "inline PTX"),
        ("void k(float* x, cudaTextureObject_t t) { x[0] = tex2D<float>(t, 0, 0); }", "does not model cudaTexture"),
        ("void k(float* x) { float* p = (float*)malloc(16); x[0] = p[0]; }", "does not model malloc"),
        ("void k(float** x) { x[0] = new float[4]; }", "does not model operator new"),
    ],
)
def test_what_is_not_modelled_is_named(text: str, message: str) -> None:
    with pytest.raises(NotModelled, match=message):
        cupy.RawKernel(f'extern "C" __global__ {text}', "k").compile()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("<cub/cub.cuh>", "does not model <cub/cub.cuh>"),
        ("<cuda/barrier>", "does not model <cuda/barrier>"),
        ("<cuda_fp4.h>", "does not model <cuda_fp4.h>"),
        ('"mine.cuh"', "mine.cuh is in no folder that the options name with -I"),
    ],
)
def test_header_that_is_not_there_is_named(header: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        cupy.RawKernel(f'#include {header}\nextern "C" __global__ void k(float* x) {{ x[0] = 1; }}', "k").compile()
