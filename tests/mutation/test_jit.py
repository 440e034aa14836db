from __future__ import annotations

import pathlib

import pytest

import kernels_triton
from conformance.mutation.jit import mutants

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, out_ptr, n, x_stride, out_stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        live = (column < n) & (row >= 0)
        x = tl.load(x_ptr + row * x_stride + column, mask=live, other=-float("inf")).to(tl.float32)
        total += tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * out_stride, tl.sum(total, axis=0) + eps)


def launch(x, out):
    _kernel[(triton.cdiv(x.shape[0], 1),)](x, out, x.shape[1], x.stride(0), out.stride(0), 1e-6, BLOCK=16)
"""


def edits(kind):
    return {(m.before, m.after) for m in mutants(KERNEL) if m.kind == kind}


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("unmask", "live", "(live) == (live)"),
        ("drop", "(column < n) & (row >= 0)", "column < n"),
        ("drop", "(column < n) & (row >= 0)", "row >= 0"),
        ("other", '-float("inf")', "0.0"),
        ("swap", "x_stride", "out_stride"),
        ("stride", "out_stride", "1"),
        ("widen", "column < n", "column <= n"),
        ("narrow", "column < n", "column + 1 < n"),
        ("narrow", "row >= 0", "row > 0"),
        ("narrow", "tl.float32", "tl.float16"),
        ("range", "n", "(n) - BLOCK"),
        ("range", "0", "(0) + BLOCK"),
        ("drop", "x - tl.max(x, axis=0)", "x"),
        ("drop", "tl.sum(total, axis=0) + eps", "tl.sum(total, axis=0)"),
        ("floor", "triton.cdiv(x.shape[0], 1)", "(x.shape[0]) // (1)"),
        ("grid", "triton.cdiv(x.shape[0], 1)", "triton.cdiv(x.shape[0], 1) - 1"),
        ("swap", "0", "1"),
    ],
)
def test_each_kind_of_edit_is_made(kind, before, after):
    assert (before, after) in edits(kind)


def test_a_cast_is_dropped_but_not_the_one_that_a_store_makes_anyway():
    dropped = {before for before, _ in edits("drop")}

    assert any(before.endswith(".to(tl.float32)") for before in dropped)
    text = KERNEL.replace("tl.sum(total, axis=0) + eps)", "tl.sum(total, axis=0).to(tl.float16))")
    assert not any(m.before.endswith(".to(tl.float16)") for m in mutants(text))


def test_a_store_and_the_load_beside_it_change_places():
    text = "@triton.jit\ndef f(p, q):\n    x = tl.load(p)\n    tl.store(p, x + 1)\n    y = tl.load(q)\n"
    (first, second) = [m for m in mutants(text) if m.kind == "reorder"]

    assert first.text.splitlines()[2:4] == ["    tl.store(p, x + 1)", "    x = tl.load(p)"]
    assert second.text.splitlines()[3:5] == ["    y = tl.load(q)", "    tl.store(p, x + 1)"]


@pytest.mark.parametrize("name", ["matmul", "rms_norm", "softmax", "vector_add"])
def test_mutants_of_shipped_kernels_compile_and_keep_their_lines(name):
    path = pathlib.Path(kernels_triton.__file__).with_name(f"{name}.py")
    text = path.read_text()
    found = list(mutants(text))

    assert len(found) > 40
    for mutant in found:
        compile(mutant.text, str(path), "exec")
        assert len(mutant.text.splitlines()) == len(text.splitlines()), mutant
        assert len({mutant.text for mutant in found}) == len(found)
