"""References as authors write them: torch's own result lies in the ball, at sizes and magnitudes of the edge."""

import pytest
import torch

from conformance import balls
from conformance.promises import Promises

LARGE = torch.full((4, 8), 3e38)
REFERENCES = {
    "logsumexp of no columns": (lambda x: torch.logsumexp(x, -1), [torch.zeros(2, 0, 0)]),
    "weights of one query times large values": (lambda q, v: torch.softmax(q, 0) @ v, [torch.zeros(4), LARGE]),
    "large values times a computed vector": (lambda q, v: v.T @ torch.exp(q), [torch.zeros(4), LARGE]),
    "a computed matrix times a large vector": (lambda m, v: torch.exp(m) @ v, [torch.zeros(4, 8), LARGE[0]]),
    "computed and large vectors": (lambda q, v: torch.exp(q) @ v, [torch.zeros(8), LARGE[0]]),
    "index_put with duplicates": (
        lambda x, v: x.index_put((torch.tensor([1, 1, 0]),), v, accumulate=True),
        [torch.ones(3, 2), torch.arange(6.0).reshape(3, 2) / 7],
    ),
    "index_put of one number into two axes": (
        lambda x: x.index_put((torch.tensor([1, 1]), torch.tensor([0, 0])), torch.tensor(0.3), accumulate=True),
        [torch.ones(3, 2)],
    ),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_torch_lies_in_the_ball(name):
    reference, arguments = REFERENCES[name]
    (ball,) = balls.enclose(reference, arguments, Promises())
    verdict = balls.judge(reference(*arguments), ball, Promises())
    assert verdict.ok, str(verdict)


def test_complex_numbers_are_refused_in_words():
    with pytest.raises(TypeError, match="view_as_complex gives complex numbers"):
        balls.enclose(lambda x: torch.view_as_real(torch.view_as_complex(x) ** 2), [torch.ones(3, 2)], Promises())


def test_the_bits_of_exact_numbers_are_numbers():
    def truncated(x):
        return (x.view(torch.int32) & -65536).view(torch.float32).to(torch.bfloat16)

    x = torch.tensor([1.2345, -7.0, 3.4e38])
    (ball,) = balls.enclose(truncated, [x], Promises())
    assert balls.judge(truncated(x), ball, Promises()).ok
    assert not balls.judge(x.to(torch.bfloat16), ball, Promises()).ok


def test_the_bits_of_a_rounded_result_are_refused_in_words():
    with pytest.raises(TypeError, match="carry no error bound"):
        balls.enclose(lambda x: torch.exp(x).view(torch.int32), [torch.ones(3)], Promises())
