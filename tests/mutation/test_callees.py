"""What a launcher reaches by name, and that nothing else of its file is mutated."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from conformance.mutation import Subject, mutate
from conformance.mutation.callees import launched, reached
from conformance.mutation.report import document, text
from conformance.ops import vector_add

TRITON = """
import torch, triton
import triton.language as tl


@triton.jit
def _add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def _triple(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 3, mask=i < n)


TABLE = {"add": _add}


def add(x, y):
    out = torch.empty_like(x)
    TABLE["add"][(triton.cdiv(x.numel(), 16),)](x, y, out, x.numel(), BLOCK=16)
    return out


def triple(x):
    out = torch.empty_like(x)
    _triple[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), BLOCK=16)
    return out


if __name__ == "__main__":
    x = triple(torch.ones(3))
"""

CUDA = """
__device__ bool inside(int i, int n) { return i < n; }
extern "C" __global__ void add(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (inside(i, n)) out[i] = x[i] + y[i];
}
extern "C" __global__ void triple(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 3 * x[i];
}
"""

LAUNCHER = """
import pathlib, torch
from kernels_cuda import launcher


def add(x, y):
    out = torch.empty(x.shape)
    module = launcher.load(pathlib.Path(__file__).with_suffix(".cu"))
    if x.numel():
        module.launch("add", -(-x.numel() // 64), 64, (x.contiguous(), y.contiguous(), out, x.numel()))
    return out
"""


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def subject(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    path = tmp_path / "adders.py"
    monkeypatch.setitem(sys.modules, "adders", None)
    if request.param == "triton":
        path.write_text(TRITON)
    else:
        path.write_text(LAUNCHER)
        path.with_suffix(".cu").write_text(CUDA)
    return Subject(load(path).add, vector_add)


@pytest.mark.parametrize(
    ("subject", "within", "left_out"),
    [("triton", {9, 23}, {"_triple": 6, "triple": 2}), ("cuda", {2, 5}, {"triple": 4})],
    indirect=["subject"],
)
def test_what_the_kernel_does_not_reach_is_not_mutated(
    subject: Subject, within: set[int], left_out: dict[str, int]
) -> None:
    score = mutate(subject, sample=0)

    assert score.total > 0
    assert score.left_out == left_out
    assert document([score])["sources"][0]["left_out"] == left_out
    assert any("left out, which the kernel does not reach" in line for line in text(score))
    assert {line for line in range(30) if mutate(subject, sample=0, lines=range(line, line + 1)).total} == within


def test_a_launcher_that_reads_its_source_from_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "adders.py"
    path.write_text(LAUNCHER.replace('pathlib.Path(__file__).with_suffix(".cu")', '"adders.cu"'))
    path.with_suffix(".cu").write_text(CUDA)
    monkeypatch.chdir(tmp_path)
    subject = Subject(load(path).add, vector_add, options={"oracles": ("launch",), "dtypes": (torch.float32,)})
    with pytest.raises(ValueError, match=r"does not read adders.cu from its own folder.*with_name\('adders.cu'\)"):
        mutate(subject, examples=3, kinds=("unmask",), jobs=1)


@pytest.mark.parametrize(
    "statements",
    [
        "def f(): return T['a'] | T = {} | T['a'] = g | def g(): pass",
        "def f(): return T['a'] | T = dict() | T.update(a=g) | def g(): pass",
        "def f(): return C.run() | class C: run = lambda self: g() | def g(): pass",
        "def f(): return globals()[name] | def g(): pass",
        "def f(): return getattr(module, 'g') | def g(): pass",
        "f = wrap(g) | def g(): pass",
        "def f(x=g): pass | def g(): pass",
        "def f(): pass | def g(): pass | register(g)",
    ],
)
def test_what_is_used_by_name_is_reached(statements: str) -> None:
    lines = statements.split(" | ")
    assert [ast.unparse(each) for each in reached("\n".join(lines), "f")] == [
        ast.unparse(each) for each in ast.parse("\n".join(lines)).body
    ]


@pytest.mark.parametrize(
    "other",
    [
        "def g(): f()",
        "def g(x): return x",  # a parameter of the launcher has this name
        "def i(): pass",  # a local variable of the launcher has this name
        "g = 3",
        "if __name__ == '__main__': g = f(2)",
    ],
)
def test_what_uses_the_launcher_or_shares_a_name_with_its_variables_is_not_reached(other: str) -> None:
    (only,) = reached(f"def f(g):\n    i = g\n    return i\n{other}", "f")
    assert isinstance(only, ast.FunctionDef)
    assert only.name == "f"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("launch('scale')", {"scale"}),
        ("launch('scale<float>')", {"scale"}),
        ("launch(f'scale_{dtype}')", {"scale_half"}),
        ("launch('scale_' + dtype)", {"scale_half"}),
        ("launch('scale_%s' % dtype)", {"scale_half"}),
        ("launch('scale_{}'.format(dtype))", {"scale_half"}),
        ("launch(name)", {"scale", "scale_half", "add"}),
    ],
)
def test_kernels_are_launched_by_strings(code: str, names: set[str]) -> None:
    assert launched(ast.parse(code).body, ["scale", "scale_half", "add"]) == names
