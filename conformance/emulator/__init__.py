"""CUDA source text on the CPU: every thread runs, every access is checked."""

from conformance.emulator.backend import Backend, Handle
from conformance.emulator.launch import KernelError, LaunchError
from conformance.emulator.library import Library
from conformance.emulator.program import Program, load
from conformance.emulator.shadow import Shadow, unwritten
from conformance.emulator.signature import ArgumentError, Parameter, Signature
from conformance.emulator.toolchain import CompileError, NotModelled, ToolchainError

__all__ = [
    "ArgumentError",
    "Backend",
    "CompileError",
    "Handle",
    "KernelError",
    "LaunchError",
    "Library",
    "NotModelled",
    "Parameter",
    "Program",
    "Shadow",
    "Signature",
    "ToolchainError",
    "load",
    "unwritten",
]
