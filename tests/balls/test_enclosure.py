"""Ordinary torch references run on balls: the midpoint is torch in float64, and nothing is noted as heuristic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own alias

from conformance.balls import enclose, judge
from conformance.promises import Promises

X = (3, 8)


def rope(x: Any) -> Any:
    n, d = x.shape
    inv = 1.0 / (10000.0 ** (torch.arange(0, d, 2).float() / d))
    angle = torch.outer(torch.arange(n).float(), inv)
    cos, sin = torch.cos(angle), torch.sin(angle)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def masked_assignment(x: Any) -> Any:
    y = x.clone()
    y[x < 0] = 0
    y[:, 0] += 1.5
    y[0].mul_(2)
    return y


def into_zeros(x: Any) -> Any:
    out = torch.zeros(5, x.shape[1], dtype=x.dtype)
    out.index_add_(0, torch.tensor([0, 1, 0]), x)
    return out


def scattered(x: Any) -> Any:
    out = x.new_zeros(x.shape)
    index = torch.arange(x.shape[1]).flip(0).expand(x.shape[0], -1)
    return out.scatter_(1, index, x)


def controlled(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x * 3


def looped(x: Any) -> Any:
    total = torch.zeros_like(x[0])
    for i in range(x.shape[0]):
        total = total + x[int(torch.tensor(i))]
    return total


def attention(q: Any) -> Any:
    return F.scaled_dot_product_attention(q[None], q[None], q[None], is_causal=True)[0]


REFERENCES: dict[str, Callable[..., Any]] = {
    "add": lambda x: x + x * 2 - 1,
    "reverse operators": lambda x: (1 - x) * (2 / (x * x + 1)),
    "softmax": lambda x: torch.softmax(x, dim=-1),
    "functional softmax": lambda x: F.softmax(x.float(), dim=0, dtype=torch.float32).to(x.dtype),
    "method softmax": lambda x: x.softmax(-1),
    "log softmax": lambda x: F.log_softmax(x, dim=-1),
    "logsumexp": lambda x: torch.logsumexp(x, dim=-1, keepdim=True),
    "rms norm": lambda x: F.rms_norm(x, (x.shape[-1],), None, 1e-6),
    "layer norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "group norm": lambda x: F.group_norm(x[None], 1)[0],
    "hand-written norm": lambda x: x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype),
    "matmul": lambda x: x @ x.T,
    "matmul in double": lambda x: (x.double() @ x.double().T).float(),
    "mv": lambda x: torch.mv(x, x[0]),
    "bmm": lambda x: torch.bmm(x[None], x.T[None]),
    "addmm": lambda x: torch.addmm(x[:, :3], x, x.T, beta=0.5, alpha=2.0),
    "linear": lambda x: F.linear(x, x, x[:, 0]),
    "einsum": lambda x: torch.einsum("ik,jk->ij", x, x),
    "einsum of three": lambda x: torch.einsum("ik,jk,i->j", x, x, x[:, 0]),
    "attention": attention,
    "sums": lambda x: x.sum() + x.sum(0).sum(-1, keepdim=True),
    "mean": lambda x: x.mean(dim=(0, 1)),
    "var": lambda x: x.var(-1, unbiased=False),
    "std": lambda x: x.std(-1),
    "var_mean": lambda x: torch.var_mean(x, dim=-1),
    "cumsum": lambda x: torch.cumsum(x, dim=-1),
    "prod": lambda x: x.prod(-1),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "max": lambda x: x.max(),
    "max with indices": lambda x: x.max(dim=-1).values,
    "argmax": lambda x: x.argmax(-1),
    "amin": lambda x: x.amin(0),
    "exp and log": lambda x: torch.log(torch.exp(x) + 1),
    "logs": lambda x: torch.log2(x.abs() + 1) + torch.log1p(x.abs()),
    "roots": lambda x: x.abs().sqrt() + torch.rsqrt(x.abs() + 1),
    "powers": lambda x: x**2 + x.pow(3) + (x.abs() + 1) ** 0.3,
    "trigonometry": lambda x: torch.sin(x) * torch.cos(x) + torch.tanh(x),
    "silu": lambda x: F.silu(x) * x,
    "gelu": lambda x: F.gelu(x) + F.gelu(x, approximate="tanh"),
    "sigmoid": lambda x: torch.sigmoid(x) * x.relu(),
    "softplus": lambda x: F.softplus(x),
    "leaky": lambda x: F.leaky_relu(x, 0.1) + F.elu(x),
    "clamp": lambda x: x.clamp(-0.5, 0.5).clamp(min=0.1),
    "maximum": lambda x: torch.maximum(x, torch.zeros_like(x)) + torch.minimum(x, x.flip(0)),
    "where": lambda x: torch.where(x > 0, x, -x),
    "masked fill": lambda x: x.masked_fill(torch.arange(x.shape[1]) > 3, float("-inf")),
    "tril": lambda x: torch.tril(x, 1),
    "nan to num": lambda x: torch.nan_to_num(x / 0.0, posinf=1.0, neginf=-1.0),
    "rounding": lambda x: torch.round(x) + x.floor() + x.ceil() + x.trunc(),
    "to integers": lambda x: (x * 4).round().clamp(-8, 7).to(torch.int8),
    "downcast": lambda x: x.half().float() * 3,
    "reshape": lambda x: x.reshape(-1, 2).t().contiguous().flatten().unsqueeze(0).expand(2, -1),
    "permute": lambda x: x[None].permute(2, 0, 1).transpose(0, 1).squeeze(0),
    "chunk": lambda x: torch.cat(list(x.chunk(2, dim=-1))[::-1], dim=-1),
    "split": lambda x: torch.stack(x.split(4, dim=1), dim=0),
    "roll": lambda x: torch.roll(x, 1, dims=1).flip(0),
    "repeat interleave": lambda x: x.repeat_interleave(2, dim=0),
    "pad": lambda x: F.pad(x, (1, 2), value=1.5),
    "slices": lambda x: x[1:, ::2] * x[:2, None, 0] + x[..., -1].T[0],
    "index tensor": lambda x: x[torch.tensor([2, 0]), torch.tensor([1, 1])],
    "boolean index": lambda x: x[torch.tensor([True, False, True])],
    "gather": lambda x: torch.gather(x, 1, torch.tensor([[0, 1], [2, 3], [4, 5]])),
    "index select": lambda x: torch.index_select(x, 0, torch.tensor([1, 1])),
    "embedding": lambda x: F.embedding(torch.tensor([[0, 2]]), x),
    "outer": lambda x: torch.outer(x[0], x[1]),
    "masked assignment": masked_assignment,
    "index add": into_zeros,
    "scatter": scattered,
    "scatter a number": lambda x: x.scatter(1, torch.zeros(3, 1, dtype=torch.int64), 0.1),
    "control flow": controlled,
    "loop": looped,
    "rotary embedding": rope,
    "cross entropy": lambda x: F.cross_entropy(x, torch.tensor([1, -100, 3])),
    "cross entropy sum": lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3]), reduction="sum", label_smoothing=0.1),
    "cross entropy weights": lambda x: F.cross_entropy(
        x, torch.tensor([1, 0, 3]), weight=torch.arange(1.0, 9.0).to(x.dtype)
    ),
    "cross entropy soft": lambda x: F.cross_entropy(x, torch.softmax(x, -1)),
    "nll": lambda x: F.nll_loss(F.log_softmax(x, -1), torch.tensor([1, 0, 3]), reduction="none"),
    "shapes": lambda x: x * x.shape[0] + len(x) + x.size(-1) + x.ndim + x.stride(0) + x.numel(),
    "properties": lambda x: x + 0.5 * int(x.is_floating_point() and torch.is_floating_point(x)),
    "where method": lambda x: x.where(x > 0, x * 2),
}

# references that name float32 or less: torch computes them in that, on float64 too
NARROW = {"functional softmax", "hand-written norm", "rotary embedding", "matmul in double", "downcast"}

# the reference decides by a comparison that rounding could decide otherwise
NOTED = {"control flow": "gt"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", REFERENCES)
def test_a_torch_reference_runs_on_balls_and_encloses_float64(name: str, dtype: torch.dtype) -> None:
    reference = REFERENCES[name]
    x = torch.randn(X, generator=torch.Generator().manual_seed(1)).to(dtype)
    balls = enclose(reference, [x], Promises())
    exact = reference(x.double())
    outputs = list(exact) if isinstance(exact, tuple) else [exact]
    assert len(balls) == len(outputs)
    # what torch itself is off by, in the arithmetic that the reference prescribes for float64
    own = enclose(reference, [x.double()], Promises(compute=torch.float32 if name in NARROW else None))
    for ball, output, torchs in zip(balls, outputs, own, strict=True):
        assert ball.shape == tuple(output.shape)
        assert ball.heuristic == (() if name not in NOTED else (NOTED[name],))[: len(ball.heuristic)]
        got = output.double().numpy()
        rounding = np.spacing(np.abs(got))
        inside = (np.abs(ball.mid - got) <= ball.rad + torchs.rad + rounding) | (ball.mid == got)
        assert inside.all(), (ball.mid, got)


@pytest.mark.parametrize("name", REFERENCES)
def test_the_same_reference_in_float32_is_a_conformant_kernel(name: str) -> None:
    x = torch.randn(X, generator=torch.Generator().manual_seed(2))
    reference = REFERENCES[name]
    balls = enclose(reference, [x], Promises(order="any"))
    result = reference(x)
    for ball, output in zip(balls, list(result) if isinstance(result, tuple) else [result], strict=True):
        verdict = judge(output, ball, Promises())
        assert verdict.ok, str(verdict)


def test_an_operation_without_a_rule_is_named_and_estimated() -> None:
    x = torch.randn(X)
    (ball,) = enclose(lambda x: torch.special.bessel_j0(x), [x], Promises())
    assert ball.heuristic == ("special_bessel_j0",)
    assert judge(torch.special.bessel_j0(x), ball, Promises()).ok
    assert not judge(torch.special.bessel_j0(x) * 1.001, ball, Promises()).ok


LEAVING: dict[str, Callable[..., Any]] = {
    "numpy": lambda x: torch.from_numpy(x.numpy()),
    "detached": lambda x: torch.from_numpy(x.detach().cpu().numpy()),
    "a NumPy function": lambda x: torch.from_numpy(np.exp(x)),
    "np.asarray": lambda x: torch.from_numpy(np.asarray(x * 2)),
    "a NumPy operator": lambda x: torch.from_numpy(np.ones(8) * x),
    "a list": lambda x: torch.tensor([math.exp(v) for v in x[0].tolist()]),
}


@pytest.mark.parametrize("name", LEAVING)
def test_a_reference_that_leaves_torch_is_told_so(name: str) -> None:
    with pytest.raises(TypeError, match=r"the reference leaves torch: .* Write that part with torch operations"):
        enclose(LEAVING[name], [torch.randn(X)], Promises())


def test_integers_may_be_listed_in_a_reference() -> None:
    (ball,) = enclose(lambda x: x[x[:, 0].long().tolist()], [torch.tensor([[1.0, 2.0], [0.0, 5.0]])], Promises())
    assert ball.mid.tolist() == [[0.0, 5.0], [1.0, 2.0]]


NAMED_TUPLES: dict[str, Callable[..., Any]] = {
    "topk": lambda x: x.topk(2).values,
    "sort": lambda x: x.sort(descending=True).values,
    "median": lambda x: x.median(-1).values,
    "cummax": lambda x: x.cummax(-1).values,
    "aminmax": lambda x: torch.aminmax(x).max,
    "frexp": lambda x: torch.frexp(x).mantissa,
}


@pytest.mark.parametrize("name", NAMED_TUPLES)
def test_an_operation_without_a_rule_returns_its_named_tuple(name: str) -> None:
    x = torch.randn(X, generator=torch.Generator().manual_seed(3))
    (ball,) = enclose(NAMED_TUPLES[name], [x], Promises())
    assert ball.heuristic == (name,)
    assert judge(NAMED_TUPLES[name](x), ball, Promises()).ok
    assert not judge(NAMED_TUPLES[name](x) * 1.001, ball, Promises()).ok


def test_an_output_of_whole_numbers_is_exact() -> None:
    x = torch.arange(-6.0, 6.0).reshape(3, 4)
    (ball,) = enclose(lambda x: x @ x.T, [x], Promises())
    assert not ball.rad.any()


def test_upcasts_in_the_reference_do_not_tighten_the_bound() -> None:
    x = torch.randn(4, 9)
    (plain,) = enclose(lambda x: torch.softmax(x, -1), [x], Promises())
    (double,) = enclose(lambda x: torch.softmax(x.double(), -1).to(x.dtype), [x], Promises())
    assert np.array_equal(plain.rad, double.rad)
    assert plain.dtype is double.dtype is torch.float32


def test_a_downcast_in_the_middle_is_a_rounding_that_kernels_may_do() -> None:
    x, w = torch.randn(2, 2, 9).bfloat16().unbind(0)

    def reference(x: Any, w: Any) -> Any:
        return (x.float() * 1.1).to(x.dtype) * w

    (ball,) = enclose(reference, [x, w], Promises())
    assert judge(reference(x, w), ball, Promises()).ok
    assert judge((x.float() * 1.1 * w.float()).bfloat16(), ball, Promises()).ok


def test_llama_casting_is_a_promise() -> None:
    x, w = torch.randn(2, 8, 64).bfloat16().unbind(0)
    w = w[0]
    normed = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
    got = normed.bfloat16() * w
    reference = lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-6)  # noqa: E731
    (late,) = enclose(reference, [x, w], Promises())
    (llama,) = enclose(reference, [x, w], Promises(casting="llama"))
    assert not judge(got, late, Promises()).ok
    assert judge(got, llama, Promises(casting="llama")).ok


def test_a_mutated_argument_is_an_output_when_asked_for() -> None:
    def reference(x: Any) -> None:
        x.mul_(3.0)

    x = torch.randn(5)
    (ball,) = enclose(reference, [x], Promises(), mutates=[0])
    assert judge(x * 3, ball, Promises()).ok


def test_arguments_are_not_changed_by_a_mutating_reference() -> None:
    x = torch.randn(5)
    before = x.clone()
    enclose(lambda x: x.add_(1.0), [x], Promises())
    assert torch.equal(x, before)


def test_tf32_must_be_promised() -> None:
    a, b = torch.randn(16, 32), torch.randn(32, 16)
    cut = lambda t: (t.view(torch.int32) & -8192).view(torch.float32)  # noqa: E731 - drops the 13 bits that TF32 lacks
    got = cut(a) @ cut(b)
    reference = lambda a, b: a @ b  # noqa: E731
    for dot, ok in (("ieee", False), ("tf32", True)):
        promises = Promises(dot=dot)
        (ball,) = enclose(reference, [a, b], promises)
        assert judge(got, ball, promises).ok is ok


def test_an_integer_output_of_inexact_values_allows_both_neighbours() -> None:
    x = torch.tensor([0.5, 1.0, 2.0])
    (ball,) = enclose(lambda x: (x / 0.2).round().to(torch.int8), [x], Promises())
    assert judge(torch.tensor([2, 5, 10], dtype=torch.int8), ball, Promises()).ok
    assert not judge(torch.tensor([2, 5, 11], dtype=torch.int8), ball, Promises()).ok


def test_a_reference_must_return_tensors() -> None:
    with pytest.raises(TypeError, match="must return tensors"):
        enclose(lambda x: "nothing", [torch.ones(1)], Promises())


def test_math_constants_may_be_held_in_float32() -> None:
    x = torch.randn(64)
    (ball,) = enclose(lambda x: x * math.pi, [x], Promises())
    assert judge(x * math.pi, ball, Promises()).ok
