"""A kernel with a missing mask. pytest does not collect this file by itself: `pytest tests/faulty.py` shows findings."""

from conformance.ops import softmax
from my_kernels.softmax import softmax_first

test_softmax_first = softmax.conformance(softmax_first)
