"""Relations: correct kernels keep those that the ops declare, and each relation finds a kernel that breaks it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis.errors import InvalidArgument

import strategies as kst
from conformance import Op, check, ops, relations

OPS = [name for name in ops.__all__ if getattr(ops, name).relations]


def rounded_once(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The reference in float64, rounded: torch's own half-precision kernels on a CPU round and flush as its processor
    does (bfloat16 subnormals, losses that are added up in bfloat16)."""

    def kernel(*args: Any) -> Any:
        plain = reference(*args)
        wide = reference(*(a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args))
        if isinstance(plain, torch.Tensor):
            return wide.to(plain.dtype)
        return tuple(w.to(p.dtype) for w, p in zip(wide, plain, strict=True))

    return kernel


@pytest.mark.parametrize("name", OPS)
def test_torch_keeps_every_relation_of_an_op(name: str) -> None:
    op: Op = getattr(ops, name)
    # torch's vectorized loops give the last elements of a tensor other bits, and its products a row in another batch
    kernel = rounded_once(op.reference)
    report = check(kernel, op, oracles=["relations"], examples=30, batch_invariant=False, layouts="contiguous")
    assert report.ok, [f.summary for f in report.findings]
    assert report.examples


def test_every_op_declares_relations() -> None:
    assert set(OPS) == set(ops.__all__)


def rows(**options: Any) -> Op:
    x = kst.tensors("rows", "cols", dtypes=(torch.float32,))
    # contiguous: torch adds strided rows up in an order that differs among them
    return Op(lambda x: x.contiguous().sum(-1), {"x": x}, name="s", **options)


def softmax(*declared: relations.Relation) -> Op:
    x = kst.tensors("rows", "cols", dtypes=(torch.float32,))
    return Op(lambda x: torch.softmax(x, -1), {"x": x}, relations=declared, name="softmax")


def product(*declared: relations.Relation) -> Op:
    of = {"a": kst.tensors("m", "k", dtypes=(torch.float32,)), "b": kst.tensors("k", "n", dtypes=(torch.float32,))}
    return Op(lambda a, b: a @ b, of, relations=declared, name="product")


def added(*declared: relations.Relation) -> Op:
    of = {n: kst.tensors("rows", dtypes=(torch.float32,)) for n in ("x", "y")}
    return Op(lambda x, y: x + y, of, relations=declared, name="added")


def _second_row(x: torch.Tensor) -> torch.Tensor:
    out = x.sum(-1)
    out[1:2] += 1
    return out


BROKEN: dict[str, tuple[Op, Callable[..., Any]]] = {
    "permutation": (rows(relations=[relations.permutation("rows")]), _second_row),
    "permutation of a sum": (
        rows(relations=[relations.permutation("cols", exact=False, reduced=True)]),
        lambda x: x[:, 1:].sum(-1),
    ),
    "padding": (
        rows(relations=[relations.padding("cols", reduced=True, x=0.0)]),
        lambda x: x[:, : x.shape[1] // 4 * 4].sum(-1),
    ),
    "padding of a softmax": (softmax(relations.padding("cols", x=-torch.inf)), lambda x: torch.softmax(x, -1) + 1e-3),
    "shift": (softmax(relations.shift("x")), lambda x: x.exp() / x.exp().sum(-1, keepdim=True)),
    "negation": (rows(relations=[relations.negation("x")]), lambda x: x.abs().sum(-1)),
    "doubling": (rows(relations=[relations.doubling("x")]), lambda x: x.square().sum(-1)),
    "exchange": (added(relations.exchange("x", "y")), lambda x, y: x + y.bfloat16()),
    "selection": (product(relations.selection("a", "b")), lambda a, b: a.bfloat16().float() @ b),
    "transposition": (
        product(relations.transposition("a", "b")),
        lambda a, b: a.bfloat16().float() @ b,
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_kernel_that_breaks_a_relation_is_found(name: str) -> None:
    op, kernel = BROKEN[name]
    report = check(kernel, op, oracles=["relations"], examples=40)
    (finding,) = report.findings
    assert finding.oracle == "relations"
    assert op.relations[0].law in finding.summary
    honest = check(op.reference, op, oracles=["relations"], examples=40)
    assert honest.ok, [f.summary for f in honest.findings]


def test_sums_by_atomics_are_close_and_not_equal() -> None:
    op = rows(relations=[relations.negation("x")])
    turns = itertools.count()

    def unordered(x: torch.Tensor) -> torch.Tensor:
        turned = x if next(turns) % 2 else x.flip(-1)
        return torch.tensor([functools.reduce(torch.add, row, torch.zeros(())) for row in turned])

    assert not check(unordered, op, oracles=["relations"], examples=40).ok
    assert check(unordered, op, oracles=["relations"], examples=40, deterministic=False).ok


def test_a_relation_lengthens_no_axis_beyond_what_the_kernel_takes() -> None:
    def short(x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] > 16:
            raise ValueError("at most 16 columns")
        return x.sum(-1)

    op = rows(relations=[relations.padding("cols", reduced=True, x=0.0)])
    assert check(short, op, oracles=["relations"], examples=40, limits={"cols": 16}).ok


def test_a_kernel_without_batch_invariance_is_asked_to_be_close_and_not_equal() -> None:
    def uneven(x: torch.Tensor) -> torch.Tensor:
        out = x.sum(-1)
        out[1:] = x[1:].flip(-1).cumsum(-1)[:, -1] if x.shape[1] else 0.0
        return out

    op = rows(relations=[relations.permutation("rows")])
    assert not check(uneven, op, oracles=["relations"], examples=40).ok
    assert check(uneven, op, oracles=["relations"], examples=40, batch_invariant=False).ok


def test_a_shift_is_added_without_error() -> None:
    relation = relations.shift("x")
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.randn(4, 33, generator=torch.Generator().manual_seed(1)).to(dtype)
        assert relation.prepare is not None
        prepared = relation.prepare({"x": x}, {})
        assert prepared is not None
        shifted = relation.transform(prepared, {})
        assert shifted is not None
        c = shifted["x"].double() - prepared["x"].double()
        assert bool((c == c[0, 0]).all()), dtype
        assert c[0, 0] >= 1


def test_names_that_fit_nothing_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one argument"):
        relations.negation()
    with pytest.raises(InvalidArgument, match="no argument"):
        rows(relations=[relations.permutation("columns")])
    with pytest.raises(InvalidArgument, match="is no argument"):
        rows(relations=[relations.negation("y")])
