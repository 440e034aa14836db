"""What a launcher that refuses a call is told."""

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

import strategies as kst
from conformance import Op
from conformance.oracles import crash
from conformance.trial import Trial
from strategies import Call, TensorDescription

op = Op(lambda x: x + 1, dict(x=kst.tensors("rows", "cols", dtypes=(torch.float32,))), name="increment")


def by_descriptor(x):
    TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 4])
    return x + 1


def only_float64(x):
    raise TypeError("x must be float64")


def notes_of(kernel, shape, layout=None):
    call = Call((("x", TensorDescription(shape, torch.float32, layout)),), (("rows", shape[0]), ("cols", shape[1])))
    trial = Trial(op, kernel)
    (objection,) = crash.check(trial, trial.launch(call))
    return objection.notes[1:]


@pytest.mark.parametrize(
    ("shape", "layout", "words"),
    [
        ((3, 5), None, "op.sized(cols=kst.multiple_of(4))"),
        ((4, 8), kst.layout((4, 8), (1, 4)), "x: transposed"),
        ((4, 8), kst.layout((4, 8), (8, 1), 1), "x: offset"),
    ],
)
def test_a_refusal_of_a_tensor_descriptor_says_which_promise_to_give(shape, layout, words):
    (note,) = notes_of(by_descriptor, shape, layout)

    assert words in note


def test_a_refusal_of_a_dtype_is_a_promise_of_dtypes():
    (note,) = notes_of(only_float64, (4, 8))

    assert "dtypes=float32" in note
