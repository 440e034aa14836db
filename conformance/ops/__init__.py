"""Contracts of common operations: one line tests anybody's kernel, `softmax.conformance(kernel)`."""

from conformance.ops.attention import attention
from conformance.ops.cross_entropy import cross_entropy, cross_entropy_mean
from conformance.ops.embedding import embedding
from conformance.ops.gelu import gelu, gelu_tanh
from conformance.ops.layer_norm import layer_norm
from conformance.ops.matmul import matmul
from conformance.ops.quantize_int8 import quantize_int8
from conformance.ops.reductions import row_amax, row_sum
from conformance.ops.rms_norm import rms_norm
from conformance.ops.rope import rope
from conformance.ops.silu_and_mul import silu_and_mul
from conformance.ops.softmax import softmax
from conformance.ops.vector_add import vector_add

__all__ = [
    "attention",
    "cross_entropy",
    "cross_entropy_mean",
    "embedding",
    "gelu",
    "gelu_tanh",
    "layer_norm",
    "matmul",
    "quantize_int8",
    "rms_norm",
    "rope",
    "row_amax",
    "row_sum",
    "silu_and_mul",
    "softmax",
    "vector_add",
]
