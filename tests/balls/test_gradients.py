"""References that differentiate: torch's own gradient lies in the ball, and the words where there is none."""

import pytest
import torch
from torch.nn import functional

from conformance import balls
from conformance.promises import Promises


def tensor(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


LABELS = torch.tensor([1, 2, -100, 0])
X, WIDE = tensor(4, 9), tensor(2, 2, 5, 4)
# a function and its arguments; the gradient of each floating one is asked for
FUNCTIONS = {
    "layer_norm": (lambda x, w, b: functional.layer_norm(x, (9,), w, b), [X, X[1], X[2]]),
    "rms_norm": (lambda x, w: functional.rms_norm(x, (9,), w), [X, X[1]]),
    "rms_norm in full": (lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, [X, X[1]]),
    "group_norm": (lambda x, w: functional.group_norm(x[:, :, None], 3, w), [X, X[1]]),
    "batch_norm": (lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), [X, X[1], X[2]]),
    "softmax": (lambda x: torch.softmax(x, -1), [X]),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), [X]),
    "cross_entropy": (lambda x: functional.cross_entropy(x, LABELS), [X]),
    "cross_entropy smoothed": (lambda x: functional.cross_entropy(x, LABELS, label_smoothing=0.1), [X]),
    "a gated product": (lambda x, y: functional.silu(x) * y + torch.tanh(x) * torch.sigmoid(y), [X, X.roll(1)]),
    "a product": (lambda x, y: x @ y.T, [X, X.roll(1)]),
    "einsum": (lambda x, y: torch.einsum("ij,kj->ik", x, y), [X, X.roll(1)]),
    "masked attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        [WIDE, WIDE.roll(1), WIDE.roll(2)],
    ),
    "embedding": (lambda w: functional.embedding(torch.tensor([1, 3, 1]), w), [X]),
    "an index": (lambda x: x[torch.tensor([1, 3, 1]), 2:], [X]),
    "slices": (lambda x: torch.cat([x[:, 3:5] * x[:, :2], x[:, 1::2]], 1), [X]),
    "a scan": (lambda x: x.cumsum(-1).flip(-1), [X]),
    "statistics": (lambda x: x.var(-1) + x.norm(dim=-1) + x.amax(-1) + x.logsumexp(-1), [X]),
    "losses": (lambda x, y: functional.smooth_l1_loss(x, y) + functional.mse_loss(x, y), [X, X.roll(1)]),
    "branches": (lambda x: torch.where(x > 0, x.exp(), x * 0.1), [X]),
    "writes in place": (lambda x: x.clone().mul_(2).index_fill_(0, torch.tensor([1]), 0.0), [X]),
    "a clamp": (lambda x: functional.relu(x).clamp(max=1.0).abs(), [X]),
}


def gradient(function):
    def reference(*arguments):
        leaves = [a.detach().requires_grad_() for a in arguments]
        result = function(*leaves)
        return torch.autograd.grad(result, leaves, torch.ones_like(result))

    return reference


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_of_torch_lies_in_the_ball(name, dtype):
    function, arguments = FUNCTIONS[name]
    arguments = [a.to(dtype) for a in arguments]
    reference = gradient(function)
    for own, ball in zip(reference(*arguments), balls.enclose(reference, arguments, Promises()), strict=True):
        assert ball.dtype == dtype
        assert not ball.heuristic
        verdict = balls.judge(own, ball, Promises())
        assert verdict.ok, str(verdict)


def backward(x):
    x = x.clone().requires_grad_(True)
    torch.sigmoid(x).sum().backward()
    return x.grad


def by_attribute(x):
    x = x.clone()
    x.requires_grad = True
    return torch.autograd.grad(torch.sigmoid(x).sum(), x)[0]


def by_vjp(x):
    return torch.func.vjp(torch.sigmoid, x)[1](torch.ones_like(x))[0]


WAYS = {
    "backward": backward,
    "requires_grad": by_attribute,
    "torch.func.grad": torch.func.grad(lambda x: torch.sigmoid(x).sum()),
    "torch.func.vjp": by_vjp,
    "torch.func.jvp": lambda x: torch.func.jvp(torch.sigmoid, (x,), (torch.ones_like(x),))[1],
    "torch.autograd.functional.vjp": lambda x: torch.autograd.functional.vjp(torch.sigmoid, x, torch.ones_like(x))[1],
    "torch.vmap": lambda x: torch.vmap(lambda row: torch.sigmoid(row) * (1 - torch.sigmoid(row)))(x),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_for_a_gradient_has_a_bound(way):
    (ball,) = balls.enclose(WAYS[way], [X], Promises())
    s = torch.sigmoid(X.double())
    assert balls.judge((s * (1 - s)).float(), ball, Promises()).ok
    assert not ball.heuristic


def test_an_operation_without_a_rule_is_estimated_and_named():
    (ball,) = balls.enclose(gradient(torch.special.i0), [X.abs()], Promises())
    assert ball.heuristic
    assert balls.judge(torch.special.i1(X.abs()), ball, Promises()).ok


def test_a_half_precision_gradient_has_the_bound_of_float32_arithmetic():
    reference = gradient(lambda x, w: functional.rms_norm(x, (9,), w))
    half = balls.enclose(reference, [X.half(), X[1].half()], Promises())
    single = balls.enclose(reference, [X.half().float(), X[1].half().float()], Promises())
    for narrow, wide in zip(half, single, strict=True):
        assert narrow.dtype == torch.float16
        assert (narrow.mid == wide.mid).all()
        # a rounding to float16 on the way would be thousands of times the radius
        assert (narrow.rad < 2 * wide.rad).all()


def test_what_is_wrong_with_a_reference_is_said_of_its_first_evaluation():
    with pytest.raises(TypeError, match="the reference leaves torch"):
        balls.enclose(lambda x: torch.from_numpy(x.numpy()), [X], Promises())


def test_a_gradient_of_what_carries_none_is_torchs_own_error():
    with pytest.raises(RuntimeError, match="does not require grad"):
        balls.enclose(lambda x: torch.autograd.grad(x.detach().sum(), x.requires_grad_())[0], [X], Promises())
