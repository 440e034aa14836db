"""A stand-in for CuPy on machines without CUDA: enough of it that launchers of raw kernels run unmodified, checked.

CuPy packs arguments by their Python types and never looks at the kernel's signature: a Python float for a `float`
parameter passes the low half of a double. The stand-in reads the signature and says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from conformance import observation
from conformance.emulator import cupy_array, origin
from conformance.emulator.backend import Backend, Handle, three
from conformance.emulator.cupy_array import MemoryPointer, ndarray
from conformance.emulator.launch import DEFAULT_SHARED, MAX_SHARED, check_configuration
from conformance.emulator.signature import ArgumentError, Parameter, Signature
from conformance.emulator.toolchain import CompileError
from conformance.events import Event, Kind

_INTEGERS, _FLOATS = "bBhHiIqQ", "fdey"


class RawModule:
    """A CUDA text, as `cupy.RawModule`."""

    def __init__(
        self,
        *,
        code: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        name_expressions: Sequence[str] = (),
        jitify: bool = False,
    ) -> None:
        self.code = code
        self._file = origin.caller()
        # nvcc brings INFINITY, NAN and int64_t in; NVRTC does not
        self.options = (*options, *(("-include", "cuda_runtime.h") if backend == "nvcc" else ()))
        self.name_expressions = tuple(name_expressions or ())
        self._handle: Handle | None = None

    def compile(self) -> None:
        """Compile every kernel now rather than at its first launch."""
        handle = self.handle()
        for name in handle.program(checked=True).exports:
            handle.signature(name)

    def handle(self) -> Handle:
        """The compiled text."""
        if self._handle is None:
            text = origin.placed(self.code, self._file)
            self._handle = _backend.compile(text, options=self.options, names=self.name_expressions)
        return self._handle

    def get_function(self, name: str) -> RawKernel:
        """The kernel of a name (or one of `name_expressions`)."""
        return RawKernel(self.code, name, self.options, module=self)

    def get_global(self, name: str) -> MemoryPointer:
        """The memory of a `__device__` or `__constant__` variable: `cupy.ndarray(shape, dtype, memory)` writes to it.

        Raises:
            KeyError: the text has no such variable.
        """
        found = [self.handle().program(checked=checked).variable(name) for checked in (True, False)]
        return MemoryPointer([address for address, _ in found], found[0][1])


class RawKernel:
    """A kernel, as `cupy.RawKernel`."""

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        *,
        module: RawModule | None = None,
        **_unused: Any,
    ) -> None:
        self.name = name
        self.max_dynamic_shared_size_bytes = DEFAULT_SHARED
        self._module = module or RawModule(code=code, options=options, backend=backend)

    def compile(self) -> None:
        """Compile now rather than at the first launch."""
        self._module.handle().signature(self.name)

    def __call__(
        self,
        grid: Sequence[int] | int,
        block: Sequence[int] | int,
        args: Sequence[Any] = (),
        *,
        shared_mem: int = 0,
        stream: object = None,
        **_unused: Any,
    ) -> None:
        """Launch, with every check inside an open observation.

        Raises:
            ArgumentError: the number of arguments is wrong; or, with no observation open, one is misread.
            LaunchError: CUDA would refuse the configuration.
        """
        handle = self._module.handle()
        limit = min(self.max_dynamic_shared_size_bytes, MAX_SHARED)
        check_configuration(self.name, three(grid), three(block), shared_mem, shared_limit=limit)
        values, problems = read_as_cupy(handle.signature(self.name), args)
        seen = observation.current()
        if seen is not None:
            seen.events.extend(problems)
        elif problems:
            raise ArgumentError("; ".join(p.detail for p in problems))
        # what each parameter points to, where it is known
        known = [a.tensor if isinstance(a, ndarray) else None for a in args]
        _backend.launch(handle, self.name, three(grid), three(block), known, shared_mem, values=values)


def read_as_cupy(signature: Signature, args: Sequence[Any]) -> tuple[list[Any], list[Event]]:
    """The values that the kernel would read from arguments packed as CuPy packs them, and an event for each misread.

    Raises:
        ArgumentError: the number of arguments is wrong, or CuPy takes none of such a type.
    """
    if len(args) != len(signature.parameters):
        raise ArgumentError(f"{signature} takes {len(signature.parameters)} arguments, got {len(args)}")
    values, problems = [], []
    for parameter, value in zip(signature.parameters, args, strict=True):
        given, kind = _bytes(signature, parameter, value)
        # behind a short argument lies whatever lies there
        values.append(
            (ctypes.c_char * max(1, parameter.size)).from_buffer_copy((given + b"\xff" * 16)[: max(1, parameter.size)])
        )
        if detail := _misread(parameter, value, given, kind):
            problems.append(Event(Kind.MISREAD, parameter.name, detail, kernel=signature.kernel))
    return values, problems


def _bytes(signature: Signature, p: Parameter, value: Any) -> tuple[bytes, str]:
    """The bytes that CuPy makes of an argument, and their NumPy kind."""
    if value is None:
        return bytes(8), "p"
    if isinstance(value, ndarray):
        return value.tensor.data_ptr().to_bytes(8, "little"), "p"
    if isinstance(value, bool):
        return bytes([value]), "b"
    if isinstance(value, int | float | complex):
        scalar = np.asarray(value, dtype=np.int64 if isinstance(value, int) else None)
        return scalar.tobytes(), scalar.dtype.kind
    if isinstance(value, np.generic):
        return value.tobytes(), value.dtype.kind
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.tobytes(), value.dtype.kind
    hint = ": wrap it in cupy.from_dlpack" if isinstance(value, torch.Tensor) else ""
    raise ArgumentError(f"{signature.kernel}: CuPy takes no {type(value).__name__} for parameter `{p}`{hint}")


def _misread(p: Parameter, value: Any, given: bytes, kind: str) -> str | None:
    what = f"{type(value).__name__} {value!r}" if not isinstance(value, ndarray) else "an array"
    if p.pointer:
        if isinstance(value, ndarray):
            return p.mismatch(value.tensor)
        return None if len(given) == 8 and kind in "piu" else f"{what} is read as the pointer `{p}`"
    if kind == "p":
        return f"an array is passed for `{p}`, which is no pointer: its address is read as the value"
    if p.letter in _FLOATS and (kind != "f" or len(given) != p.size):
        width = f"{len(given)} bytes of {'a float' if kind == 'f' else 'an integer'}"
        return (
            f"{what} for `{p}`: CuPy passes {width}, of which the kernel reads {p.size}: pass numpy.{_NUMPY[p.letter]}"
        )
    if p.letter in _INTEGERS:
        if kind not in "iub":
            return (
                f"{what} for `{p}`: the kernel reads the bits of a float as an integer: pass numpy.{_NUMPY[p.letter]}"
            )
        if len(given) < p.size:
            widths = f"CuPy passes {len(given)} bytes, the kernel reads {p.size}"
            return f"{what} for `{p}`: {widths}: pass numpy.{_NUMPY[p.letter]}"
        low = int.from_bytes(given[: p.size], "little", signed=p.letter.islower())
        if low != int(value):
            return f"{what} for `{p}`: the kernel reads the low {p.size} bytes, {low}"
    if p.letter == "x" and len(given) != p.size:
        return f"{what} for `{p}`: {len(given)} bytes for a struct of {p.size}"
    return None


_NUMPY = {
    "f": "float32", "d": "float64", "e": "float16", "y": "uint16", "b": "int8", "B": "uint8",
    "h": "int16", "H": "uint16",
    "i": "int32", "I": "uint32", "q": "int64", "Q": "uint64",
}  # fmt: skip
_backend = Backend()


class Stream:
    """A stream, which needs no order of its own: launches end before they return."""

    null: Stream
    ptr = 0

    def __init__(self, *_args: object, **_options: object) -> None:
        pass

    @classmethod
    def from_external(cls, _stream: object) -> Stream:
        """A stream for one of another library."""
        return cls()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_exception: object) -> None:
        pass

    def synchronize(self) -> None:
        """Nothing is under way."""

    def use(self) -> Stream:
        """This stream."""
        return self


Stream.null = Stream()


_TORCH_STREAM = types.SimpleNamespace(cuda_stream=0, synchronize=lambda: None, device=torch.device("cpu"))


class Device(Stream):
    """A device like an H200, on which one block runs at a time."""

    id = 0
    compute_capability = "90"
    attributes = types.MappingProxyType(
        {
            "MultiProcessorCount": 132,
            "MaxSharedMemoryPerBlock": DEFAULT_SHARED,
            "MaxSharedMemoryPerBlockOptin": MAX_SHARED,
        }
    )


def module() -> types.ModuleType:
    """The stand-in module `cupy`, with its submodules."""
    cupy, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
    runtime, compiler = types.ModuleType("cupy.cuda.runtime"), types.ModuleType("cupy.cuda.compiler")
    _fill(compiler, CompileException=CompileError)
    _fill(
        runtime,
        cudaDevAttrMaxSharedMemoryPerBlockOptin=97,  # driver_types.h
        getDevice=lambda: 0,
        getDeviceCount=lambda: 1,
        deviceSynchronize=lambda: None,
    )
    _fill(
        cuda,
        Stream=Stream,
        ExternalStream=Stream,
        Device=Device,
        get_current_stream=lambda: Stream.null,
        is_available=lambda: True,
        runtime=runtime,
        compiler=compiler,
    )
    numbers = {
        n: getattr(np, n)
        for n in ("float16", "float32", "float64", "bool_", *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)))
    }
    _fill(
        cupy,
        ndarray=ndarray,
        RawKernel=RawKernel,
        RawModule=RawModule,
        array=cupy_array.asarray,
        ascontiguousarray=lambda value: ndarray.of(cupy_array.asarray(value).tensor.contiguous()),
        asnumpy=lambda array: array.get(),
        cuda=cuda,
        **{name: getattr(cupy_array, name) for name in _ARRAYS},
        **numbers,
    )
    cupy.__path__ = []
    cuda.__path__ = []
    for made in (cupy, cuda):
        made.__dict__["__getattr__"] = functools.partial(_absent, made.__name__)
    return cupy


_ARRAYS = ("from_dlpack", "asarray", "empty", "zeros", "ones", "full", "empty_like", "zeros_like")


def _absent(module_name: str, name: str) -> Any:
    if name.startswith("__"):  # Python's own questions, of a module that is imported
        raise AttributeError(name)
    raise AttributeError(
        f"the stand-in for CuPy has no {module_name}.{name}: it has raw kernels, arrays to pass to them, and streams; "
        "compute with torch"
    )


def _fill(target: types.ModuleType, **names: Any) -> None:
    for name, value in names.items():
        setattr(target, name, value)


def install_cupy() -> bool:
    """Whether `import cupy` now gives the stand-in; False where a real CuPy sees a device, which stays.

    A CuPy that is installed but sees no device is replaced for this process.
    """
    if torch.cuda.is_available():
        return False
    # launchers pass torch's stream on to CuPy; without a device torch has none
    torch.cuda.current_stream = lambda device=None: _TORCH_STREAM  # type: ignore[assignment, return-value]
    stand_in = module()
    for found in (stand_in, stand_in.cuda, stand_in.cuda.runtime, stand_in.cuda.compiler):
        sys.modules[found.__name__] = found
    return True


@contextlib.contextmanager
def cupy_installed() -> Iterator[bool]:
    """The stand-in for the time of the block; modules that imported it keep it."""
    stream = torch.cuda.current_stream
    before = {name: found for name, found in sys.modules.items() if name == "cupy" or name.startswith("cupy.")}
    try:
        yield install_cupy()
    finally:
        torch.cuda.current_stream = stream
        for name in [n for n in sys.modules if n == "cupy" or n.startswith("cupy.")]:
            del sys.modules[name]
        sys.modules.update(before)
