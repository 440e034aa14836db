"""Compilation without a GPU: what a compiler refuses or spills is known before a device is there."""

from conformance.compile.nvrtc import ARCHITECTURES, Compiled, CompilerMissingError, Resources, compile_cuda

__all__ = ["ARCHITECTURES", "Compiled", "CompilerMissingError", "Resources", "compile_cuda"]
