"""Correct kernels emulated in NumPy: every order, fusion and function error that a runtime may have.

`Machine` draws how this "kernel" computes: the order of sums, exp itself or through exp2, division or product by the
reciprocal, and an error within what the accuracy table documents, at full size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from conformance import accuracy

Array = npt.NDArray[Any]


class Machine:
    """One conformant way to compute: `real` is float32 or float64, `gpu` whether GPU function errors are drawn."""

    def __init__(self, rng: np.random.Generator, real: Any, gpu: bool) -> None:
        self.rng, self.real, self.gpu = rng, real, gpu
        self.order = str(rng.choice(["numpy", "running", "tree", "shuffled", "fused"]))
        self.by_exp2 = bool(rng.random() < 0.5)
        self.by_reciprocal = bool(rng.random() < 0.3)
        self.by_rsqrt = bool(rng.random() < 0.5)
        self.flush = gpu and real is np.float32 and bool(rng.random() < 0.7)
        # at full size in one direction, or random
        self.skew = float(rng.choice([-1.0, 1.0, 0.0]))

    def load(self, tensor: torch.Tensor) -> Array:
        return tensor.double().numpy().astype(self.real)

    def off(self, exact: Array, function: str) -> Array:
        """`exact` (wider than `real`) with the documented error of `function`."""
        exact = np.asarray(exact)
        if not self.gpu or self.real is not np.float32:
            return exact.astype(self.real)
        ulp = accuracy.BY_NAME[function].nvidia
        spread = self.rng.uniform(-1, 1, exact.shape) if self.skew == 0 else self.skew
        near = exact.astype(np.float32)
        limit = max(ulp - 0.5, 0.0)
        out = (exact + spread * limit * np.spacing(np.abs(near)).astype(np.float64)).astype(np.float32)
        out = np.where(np.isfinite(near), out, near)
        return np.where(np.abs(out) < np.finfo(np.float32).tiny, out * 0, out) if self.flush else out

    def wide(self, x: Array) -> Array:
        return x.astype(np.float64 if self.real is np.float32 else np.longdouble)

    def exp(self, x: Array) -> Array:
        if self.gpu and self.real is np.float32 and self.by_exp2:
            product = x * np.float32(np.log2(np.e))
            out = self.off(np.exp2(self.wide(product)), "exp2")
        elif not self.gpu:
            return np.exp(x)
        else:
            out = self.off(np.exp(self.wide(x)), "exp2")
        return np.where(x == 0, self.real(1), out)

    def log(self, x: Array) -> Array:
        if not self.gpu or self.real is not np.float32:
            return np.log(x)
        exact = np.log(self.wide(x))
        error = np.where((x > 0.5) & (x < 2), accuracy.LOG_NEAR_ONE, 0.0)
        out = exact + np.maximum(error, 2 * np.spacing(np.abs(exact.astype(np.float32)))) * self.rng.uniform(
            -1, 1, exact.shape
        )
        return np.where(np.isfinite(exact), out, exact).astype(np.float32)

    def div(self, a: Array, b: Array) -> Array:
        if self.by_reciprocal:
            return (a * self.off(1 / self.wide(b), "div")).astype(self.real)
        return self.off(self.wide(a) / self.wide(b), "div")

    def sqrt(self, x: Array) -> Array:
        if self.flush:
            x = np.where(x < np.finfo(np.float32).tiny, 0, x).astype(np.float32)
        exact = np.sqrt(self.wide(x))
        if not self.gpu or self.real is not np.float32:
            return exact.astype(self.real)
        # relative 2**-23, the rounding of the result included
        spread = self.rng.uniform(-1, 1, exact.shape) if self.skew == 0 else self.skew
        half = 0.5 * np.spacing(exact.astype(np.float32)).astype(np.float64)
        return (exact + spread * np.maximum(exact * 2.0**-23 - half, 0)).astype(np.float32)

    def rsqrt(self, x: Array) -> Array:
        if self.by_rsqrt and self.gpu:
            if self.flush:
                x = np.where(x < np.finfo(np.float32).tiny, 0, x).astype(np.float32)
            return self.off(1 / np.sqrt(self.wide(x)), "rsqrt")
        return self.off(1 / self.wide(self.sqrt(x)), "div")

    def sum(self, x: Array) -> Array:
        """Sum over the last axis, kept."""
        n = x.shape[-1]
        if self.order == "numpy":
            return x.sum(-1, keepdims=True, dtype=self.real)
        if self.order == "running" and n <= 24:
            return np.add.accumulate(x, axis=-1)[..., -1:] if n else x.sum(-1, keepdims=True)
        if self.order == "shuffled":
            x = x[..., self.rng.permutation(n)]
        width = 1 << max(n - 1, 0).bit_length()
        x = np.concatenate([x, np.zeros((*x.shape[:-1], width - n), x.dtype)], -1)
        while x.shape[-1] > 1:
            half = x.shape[-1] // 2
            x = x[..., :half] + x[..., half:]
        return x

    def multiply_add(self, a: Array, b: Array, c: Array) -> Array:
        if self.order == "fused":
            return (self.wide(a) * self.wide(b) + self.wide(c)).astype(self.real)
        return a * b + c

    def sum_of_squares(self, x: Array) -> Array:
        if self.order == "fused" and self.real is np.float32:
            total = np.zeros((*x.shape[:-1], 1), self.real)
            if x.shape[-1] <= 24:
                for i in range(x.shape[-1]):
                    total = self.multiply_add(x[..., i : i + 1], x[..., i : i + 1], total)
                return total
        return self.sum(x * x)

    def matmul(self, a: Array, b: Array) -> Array:
        if self.order == "fused":
            total = np.zeros((a.shape[0], b.shape[1]), self.real)
            for k in range(a.shape[1]):
                total = self.multiply_add(a[:, k : k + 1], b[k : k + 1], total)
            return total
        if self.order == "running":
            total = np.zeros((a.shape[0], b.shape[1]), self.real)
            for k in range(0, a.shape[1], 16):
                total = total + np.matmul(a[:, k : k + 16], b[k : k + 16])
            return total
        return np.matmul(a, b)

    def store(self, x: Array, dtype: torch.dtype) -> torch.Tensor:
        return torch.from_numpy(np.array(x)).to(dtype)


def softmax(m: Machine, x: torch.Tensor) -> torch.Tensor:
    v = m.load(x)
    e = m.exp(v - v.max(-1, keepdims=True))
    return m.store(m.div(e, m.sum(e)), x.dtype)


def rms_norm(m: Machine, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    v, g = m.load(x), m.load(w)
    n = m.real(v.shape[-1])
    root = m.rsqrt(m.div(m.sum_of_squares(v), n) + m.real(1e-6))
    return m.store(v * root * g, x.dtype)


def layer_norm(m: Machine, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    v, g, h = m.load(x), m.load(w), m.load(b)
    n = m.real(v.shape[-1])
    d = v - m.div(m.sum(v), n)
    root = m.rsqrt(m.div(m.sum_of_squares(d), n) + m.real(1e-6))
    return m.store(m.multiply_add(d * root, g, h), x.dtype)


def sum_rows(m: Machine, x: torch.Tensor) -> torch.Tensor:
    return m.store(m.sum(m.load(x))[..., 0], x.dtype)


def mean_rows(m: Machine, x: torch.Tensor) -> torch.Tensor:
    v = m.load(x)
    return m.store(m.div(m.sum(v), m.real(v.shape[-1]))[..., 0], x.dtype)


def add(m: Machine, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return m.store(m.load(x) + m.load(y), x.dtype)


def matmul(m: Machine, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return m.store(m.matmul(m.load(a), m.load(b)), a.dtype)


def silu_mul(m: Machine, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    v = m.load(x)
    one = m.real(1)
    gate = m.div(v, one + m.exp(-v)) if m.rng.random() < 0.5 else v * m.div(one * np.ones_like(v), one + m.exp(-v))
    return m.store(gate * m.load(y), x.dtype)


def gelu(m: Machine, x: torch.Tensor) -> torch.Tensor:
    v = m.load(x)
    inner = v * m.real(np.sqrt(0.5))
    bell = torch.erf(torch.from_numpy(m.wide(inner).astype(np.float64))).numpy()
    return m.store(m.real(0.5) * v * (m.real(1) + m.off(bell, "tanh")), x.dtype)


def logsumexp(m: Machine, x: torch.Tensor) -> torch.Tensor:
    v = m.load(x)
    top = v.max(-1, keepdims=True)
    return m.store((top + m.log(m.sum(m.exp(v - top))))[..., 0], x.dtype)


def log_softmax(m: Machine, x: torch.Tensor) -> torch.Tensor:
    v = m.load(x)
    top = v.max(-1, keepdims=True)
    log = m.log(m.sum(m.exp(v - top)))
    return m.store(v - (top + log) if m.rng.random() < 0.5 else v - top - log, x.dtype)


def cross_entropy(m: Machine, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    v = m.load(x)
    top = v.max(-1, keepdims=True)
    lse = top + m.log(m.sum(m.exp(v - top)))
    losses = (lse - np.take_along_axis(v, t.numpy()[:, None], 1))[:, 0]
    return m.store(m.div(m.sum(losses), m.real(len(losses)))[0], x.dtype)


def variance(m: Machine, x: torch.Tensor) -> torch.Tensor:
    v = m.load(x)
    n = m.real(v.shape[-1])
    d = v - m.div(m.sum(v), n)
    return m.store(m.div(m.sum_of_squares(d), n)[..., 0], x.dtype)
