"""The inputs of operations from well-known kernels: what the strategies must be able to say."""

from __future__ import annotations

from typing import Any

import torch

import strategies as kst

_ROTATIONS = kst.bounded(-1.0, 1.0)

OPERATIONS: dict[str, dict[str, Any]] = {
    "add": {"inputs": {"x": kst.tensors("n"), "y": kst.tensors("n")}},
    "softmax": {"inputs": {"x": kst.tensors("rows", "cols")}},
    "rms_norm": {"inputs": {"x": kst.tensors("rows", "cols"), "w": kst.tensors("cols"), "eps": kst.epsilons()}},
    "layer_norm": {
        "inputs": {
            "x": kst.tensors("rows", "cols"),
            "w": kst.tensors("cols", optional=True),
            "b": kst.tensors("cols", optional=True),
        }
    },
    "matmul": {"inputs": {"a": kst.tensors("m", "k"), "b": kst.tensors("k", "n")}},
    "rope": {
        "inputs": {
            "x": kst.tensors("tokens", "heads", "2*half", layouts=kst.WRITABLE),
            "cos": kst.tensors("tokens", "half", domain=_ROTATIONS),
            "sin": kst.tensors("tokens", "half", domain=_ROTATIONS),
        }
    },
    "scaled_matmul": {
        "inputs": {
            "a": kst.tensors("m", "k"),
            "scales": kst.tensors("m", "groups", domain=kst.positive()),
            "b": kst.tensors("k", "n"),
        },
        "axes": {"groups": kst.ceil_div("k", 16)},
    },
    "gather": {"inputs": {"x": kst.tensors("rows", "cols"), "index": kst.indices("picked", into="rows")}},
    "embedding_bag": {
        "inputs": {
            "table": kst.tensors("rows", "cols", dtypes=kst.HALVES),
            "index": kst.indices("bags", "length", into="rows", dtypes=(torch.int32,)),
        }
    },
    "attention": {
        "inputs": {
            "q": kst.tensors("m", "d"),
            "k": kst.tensors("n", "d"),
            "v": kst.tensors("n", "d"),
            "mask": kst.masks("m", "n", dtypes=(torch.int32,)),
            "scale": kst.scales(),
            "causal": kst.flags(),
        }
    },
    "grouped_attention": {
        "inputs": {
            "q": kst.tensors("batch", "heads_q", "m", "d"),
            "k": kst.tensors("batch", "heads_k", "n", "d"),
        },
        "axes": {"heads_q": kst.multiple_of("heads_k"), "n": kst.at_most("m"), "d": kst.fixed(16)},
    },
    "cross_entropy": {
        "inputs": {
            "logits": kst.tensors("rows", "classes"),
            "labels": kst.indices("rows", into="classes", ignore=-100),
        }
    },
    "quantize": {"inputs": {"x": kst.tensors("n", dtypes=(torch.float32,), domain=kst.ties(step=0.25))}},
    "dropout": {"inputs": {"x": kst.tensors("n"), "seed": kst.seeds(), "p": kst.rates()}},
    "sgd_step": {"inputs": {"p": kst.tensors("n", layouts=kst.WRITABLE), "grad": kst.tensors("n")}},
    "scatter": {
        "inputs": {
            "x": kst.tensors("count"),
            "index": kst.indices("count", into="n", unique=True),
            "out": kst.outputs("n"),
        },
        "axes": {"count": kst.at_most("n")},
    },
    "fp8_cast": {"inputs": {"x": kst.tensors("rows", "cols"), "out": kst.outputs("rows", "cols", dtypes=kst.FLOAT8S)}},
    "int8_add": {"inputs": {"x": kst.tensors("n", dtypes=kst.INTEGERS), "y": kst.tensors("n", dtypes=kst.INTEGERS)}},
    "conv1d": {
        "inputs": {"x": kst.tensors("batch", "length+taps"), "w": kst.tensors("taps"), "b": kst.tensors()},
        "axes": {"taps": kst.sizes(min=1, max=7)},
    },
}
