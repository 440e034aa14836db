"""Puts our machine behind Triton's interpreted functions, once per process."""

from __future__ import annotations

import sys
import types
from typing import Any

import triton.language as tl
import triton.runtime.interpreter as stock

from conformance.interpreter import blocks
from conformance.interpreter.launcher import Interpreter, run
from conformance.interpreter.phrases import Phrases


class _Kept:
    """A patch scope that keeps its patches."""

    def restore(self) -> None:
        pass


def patch(machine: Interpreter) -> None:
    """Patch Triton's language and launch loop."""
    _patch_language()
    builder = machine.builder
    stock.interpreter_semantic.builder = builder
    for module in (tl, tl.core):
        module.reduce = lambda given, axis, combine_fn, keep_dims=False, **_: blocks.reduce(
            builder, given, axis, combine_fn, keep_dims
        )
        module.associative_scan = lambda given, axis, combine_fn, reverse=False, **_: blocks.scan(
            builder, given, axis, combine_fn, reverse
        )
    _patch_tensor(machine)
    Phrases(builder).install()

    def launch(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        if not warmup:
            run(machine, self, args, grid, kwargs)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.rewrite()(*args, **kwargs)

    stock.InterpretedFunction.run = launch
    stock.InterpretedFunction.__call__ = call


def _patch_language() -> None:
    """Triton patches `tl` anew for every launch and nested call; once is enough where everything is interpreted."""
    namespace = {"tl": tl, "core": tl.core}
    stock._patch_lang(types.FunctionType(_patch_language.__code__, namespace))
    stock._patch_lang = lambda _: _Kept()


def _patch_tensor(machine: Interpreter) -> None:
    builder, tensor = machine.builder, tl.core.tensor

    def truth(self: Any) -> bool:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.startswith("triton."):
            return True  # Triton's own `if mask` asks whether a mask was given
        if self.type.is_block():
            if "truth" not in machine.repairs:
                return True
            why = "`if` or `while` on a block: the compiler wants a scalar; use tl.where, or reduce the block first"
            builder.reject(why, stop=True)
        return bool(builder.recording.guard(self.handle, bool))

    def index(self: Any) -> int:
        return int(builder.recording.guard(self.handle, int))

    def transposed(self: Any) -> Any:
        shape = [int(n) for n in self.shape]
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        handle = builder.create_trans(self.handle, order)
        return tensor(handle, tl.block_type(self.dtype, list(handle.shape)))

    tensor.__bool__, tensor.__index__, tensor.T = truth, index, property(transposed)
    tensor.__repr__ = lambda self: repr(self.handle.data)
    tensor.__str__ = lambda self: str(self.handle.data)
