"""A kernel with a missing mask. pytest does not collect it by itself: `pytest tests/faulty.py` shows findings."""

from my_kernels.softmax import softmax_first

from conformance.ops import softmax

test_softmax_first = softmax.conformance(softmax_first)
