"""The operations of torch that a block of code runs, as the dispatcher sees them."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class DispatchMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that does not load the compiler of torch, which compiles nothing here: that takes 2 s."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Operations(DispatchMode):
    """While it is open, collects the names of torch's operations that run, and counts the elements they read and make.

    >>> with Operations() as ran:
    ...     torch.ones(3).sum()
    tensor(3.)
    >>> ran.names, ran.elements
    (['ones', 'sum'], 7)
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.names.append(func.overloadpacket.__name__)
        self.elements += sum(t.numel() for t in tree_leaves((args, result)) if isinstance(t, torch.Tensor))
        return result
