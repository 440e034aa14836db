"""The kernels that are meant to be right: these tests pass."""

import torch
from my_kernels.scale import scale
from my_kernels.softmax import softmax as softmax_triton

import strategies as kst
from conformance import Op
from conformance.ops import softmax

test_softmax = softmax.conformance(softmax_triton, dtypes=[torch.float16, torch.bfloat16, torch.float32])

scaling = Op(
    reference=lambda x, factor: x * factor,
    inputs=dict(x=kst.tensors("rows", "cols", dtypes=(torch.float32,)), factor=kst.scales()),
    independent="rows",
    name="scale",
)
test_scale = scaling.conformance(scale)
