"""What a function of the language asks the builder for is the same for all tensors of equal types."""

import torch
import triton
import triton.language as tl

from conformance.interpreter.launcher import kernel_of


@triton.jit
def products(x, y, o, B: tl.constexpr):
    i = tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, a * a)
    tl.store(o + B + i, a * b)
    tl.store(o + 2 * B + i, b * b)
    tl.store(o + 3 * B + i, tl.where(a > b, a, b))
    tl.store(o + 4 * B + i, tl.where(a > a, a, b))


def test_one_tensor_twice_is_told_from_two_of_its_type():
    x, y, o = torch.randn(8), torch.randn(8), torch.empty(5, 8)
    products[(1,)](x, y, o, B=8)
    assert torch.equal(o, torch.stack([x * x, x * y, y * y, torch.maximum(x, y), y]))


@triton.jit
def constants(o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, i * 0.0)
    tl.store(o + B + i, i * -0.0)
    tl.store(o + 2 * B + i, i + 1)
    tl.store(o + 3 * B + i, i + 1.5)
    tl.store(o + 4 * B + i, i + True)


def test_constants_are_told_apart_by_type_and_by_the_sign_of_zero():
    o, i = torch.empty(5, 4), torch.arange(4.0)
    constants[(1,)](o, B=4)
    # before 3.9 Triton makes the same null of either zero (`TritonSemantic.scalar_constant`)
    signed = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 9)
    assert torch.equal(torch.signbit(o[1]), torch.full((4,), signed))
    assert torch.equal(o, torch.stack([i * 0, i * 0, i + 1, i + 1.5, i + 1]))


@triton.jit
def advanced(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    pointers = x + i
    for start in range(0, n, B):
        total += tl.load(pointers, mask=i < n - start, other=0.0)
        pointers += B
    tl.store(o + i, total)


def test_what_nobody_uses_is_taken_off_the_tape():
    x, o = torch.randn(16), torch.empty(16)
    for _ in range(2):
        advanced[(1,)](x, o, 16, B=16)
        assert torch.equal(o, x)
    (root,) = kernel_of(advanced).roots.values()
    (end,) = root.children.values()
    read = {slot for _, inputs, _, _ in end.steps for slot in inputs}
    unread = [step for step in end.steps if step[2] not in read]
    assert len(unread) == 1  # the store
