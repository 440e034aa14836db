"""Torch's own reductions in a launcher: their order follows strides and batch sizes, and is no fault of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from conformance.launch import Launch
from conformance.operations import DispatchMode
from conformance.oracles.bits import differing

# Operations of aten that add up in an order which torch chooses by strides and sizes.
_REDUCTIONS = frozenset(
    (
        *("sum", "nansum", "mean", "var", "var_mean", "std", "std_mean", "prod", "norm", "linalg_vector_norm", "trace"),
        *("logsumexp", "_softmax", "_log_softmax", "cumsum", "cumprod", "logcumsumexp", "embedding_bag"),
        *("mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "vdot", "convolution"),
        *("native_layer_norm", "native_group_norm", "native_batch_norm", "_fused_rms_norm"),
        *("index_add", "scatter_add", "scatter_reduce", "_scaled_dot_product_flash_attention_for_cpu"),
    )
)

# what a recorded tensor is where another launch has `own`: None where it has no such part
Fit = Callable[[torch.Tensor, torch.Tensor], torch.Tensor | None]


class _Reductions(DispatchMode):
    """While it is open, records what torch's reductions give, or gives what they gave in another launch."""

    def __init__(self, replayed: Sequence[list[torch.Tensor]] = (), fit: Fit | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorded: list[list[torch.Tensor]] = []
        self._replayed = replayed
        self._fit = fit

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__.rstrip("_") in _REDUCTIONS:
            own = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.is_floating_point()]
            position = len(self.recorded)
            if self._fit is not None and position < len(self._replayed):
                for before, now in zip(self._replayed[position], own, strict=False):
                    part = self._fit(before, now)
                    if part is not None and part.shape == now.shape and part.dtype == now.dtype:
                        now.copy_(part)
            self.recorded.append([t.clone() for t in own])
        return result


def explain(first: Callable[[], Launch], second: Callable[[], Launch], fit: Fit) -> bool:
    """Whether the results of two launches differ because of torch's reductions in the launcher alone.

    Both are launched again, the second with what the reductions gave in the first: then they must be the same bits.
    """
    with _Reductions() as reductions:
        launch = first()
    if launch.error is not None or not reductions.recorded:
        return False
    results = [r.clone() for r in launch.outputs]
    with _Reductions(reductions.recorded, fit):
        again = second()
    if again.error is not None or len(results) != len(again.outputs):
        return False
    parts = [fit(result, own) for result, own in zip(results, again.outputs, strict=True)]
    return all(
        part is not None and part.shape == own.shape and differing(part, own) is None
        for part, own in zip(parts, again.outputs, strict=True)
    )
