"""Where kernels run: `interpret` (on the CPU, in our interpreter and emulator) or `gpu` (compiled, on a device)."""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import importlib.util
import os
import sys
import time
from typing import Literal

import torch

from conformance import cupy_finder

Runtime = Literal["interpret", "gpu"]

# Torch's thread pool costs more than it gives at the sizes of the suite, and xdist already uses every core.
_THREADS = 1

# Seconds of spinning before sleeping: nearly every launch of the suite ends sooner.
_SPIN = 1e-3

_stock = False


class ConformanceWarning(UserWarning):
    """Something limits what the results are worth; the message says what to do."""


class RuntimeUnavailable(RuntimeError):
    """What was asked for cannot run here; the message says what to do."""


class CannotBeJudged(RuntimeUnavailable):
    """Launches of a kernel cannot be judged here, by no fault of it: what needs them is skipped, with this reason."""


class ToolMissing(CannotBeJudged):
    """A program that some launches need is not installed."""


def cannot_be_judged(error: BaseException | None) -> CannotBeJudged | None:
    """The error, or the first of those that it follows from, that says so; None where none does."""
    while error is not None and not isinstance(error, CannotBeJudged):
        error = error.__cause__ or error.__context__
    return error


def select(name: Literal["auto", "interpret", "gpu"] = "auto", *, stock: bool = False) -> Runtime:
    """The runtime of this process, chosen before any kernel module is imported.

    "auto" takes `gpu` where torch sees a CUDA device and TRITON_INTERPRET is not set, else `interpret`. Triton decides
    at decoration whether a kernel is interpreted, so one process has one runtime.

    Raises:
        RuntimeUnavailable: `gpu` without a CUDA device, or `interpret` where kernels were already decorated to compile.
    """
    global _stock
    _stock = _stock or stock
    if name == "auto":
        name = "interpret" if os.environ.get("TRITON_INTERPRET") == "1" or not torch.cuda.is_available() else "gpu"
    if name == "gpu":
        if not torch.cuda.is_available():
            raise RuntimeUnavailable(
                "runtime 'gpu' needs a CUDA device and torch sees none. Use the runtime 'interpret', or install "
                "a torch with CUDA where there is a device (`conformance doctor` shows what is found)."
            )
        if os.environ.get("TRITON_INTERPRET") == "1":
            raise RuntimeUnavailable("runtime 'gpu' was asked for, but TRITON_INTERPRET=1 is set: unset it.")
        return "gpu"
    os.environ["TRITON_INTERPRET"] = "1"
    if not torch.cuda.is_available():
        cupy_finder.install()
    return "interpret"


def current() -> Runtime:
    """The runtime in force: the one selected, or the one that `select()` would choose."""
    return "interpret" if os.environ.get("TRITON_INTERPRET") == "1" or not torch.cuda.is_available() else "gpu"


@functools.cache
def device() -> torch.device:
    """The device that tensors are placed on: the CPU, or the CUDA device of this worker."""
    if current() != "gpu":
        return torch.device("cpu")
    from conformance.device import placement  # needed where there is a GPU alone

    index = placement.index(torch.cuda.device_count())
    torch.cuda.set_device(index)  # kernels and CuPy take the current device
    return torch.device("cuda", index)


def stock() -> bool:
    """Whether Triton's own interpreter was asked for."""
    return _stock


class DeviceHang(RuntimeError):
    """The device has not finished its work within the time that a launch may take."""


_hung = False


def hung() -> bool:
    """Whether a kernel that does not end occupies the device of this process."""
    return _hung


def synchronize() -> None:
    """Wait for the device, so that a fault is raised in the launch that made it.

    Raises:
        DeviceHang: the work did not end within the policy's `hang_seconds`.
    """
    global _hung
    if device().type != "cuda":
        return
    from conformance.device import policy

    done = torch.cuda.Event()  # type: ignore[no-untyped-call]
    done.record()
    limit = policy.current().hang_seconds
    started = time.monotonic()
    while not done.query():  # type: ignore[no-untyped-call]
        waited = time.monotonic() - started
        if waited > limit:
            _hung = True
            raise DeviceHang(f"the kernel did not end within {limit:g} s")
        if waited > _SPIN:
            time.sleep(_SPIN)
    torch.cuda.synchronize()


def prepare() -> Runtime:
    """The runtime in force, with the interpreter and the emulator in place for the kernels that are imported by now."""
    if current() == "gpu":
        device()
        from conformance.device import watch

        watch.install()
        return "gpu"
    _limit_threads()
    if "triton" in sys.modules:
        _install_interpreter()
    launcher = sys.modules.get("kernels_cuda.launcher")
    if launcher is not None:
        _install_emulator()
    _freeze()
    return "interpret"


@functools.cache
def _limit_threads() -> None:
    torch.set_num_threads(_THREADS)


@functools.cache
def _freeze() -> None:
    # Torch and Triton make half a million objects that live as long as the process: a full collection that looks
    # through them takes 0.2 s, a tenth of the time of a run.
    gc.freeze()
    atexit.register(gc.unfreeze)  # extension modules look for leaks at the end


@functools.cache
def _install_interpreter() -> None:
    from conformance import interpreter

    interpreter.install(stock=_stock)


@functools.cache
def _install_emulator() -> None:
    from conformance import emulator

    sys.modules["kernels_cuda.launcher"].set_backend(emulator.Backend())


def versions() -> dict[str, str]:
    """The versions of what decides a result, and the device; "none" where something is not installed."""
    found = {"runtime": current(), "python": ".".join(map(str, sys.version_info[:3])), "torch": str(torch.__version__)}
    for name in ("triton", "cupy", "numpy", "hypothesis"):
        if importlib.util.find_spec(name) is None:
            found[name] = "none"
        elif name == "cupy" and current() == "interpret":
            found[name] = "stand-in"  # `import cupy` gives the emulator
        else:
            found[name] = str(importlib.import_module(name).__version__)
    found["device"] = torch.cuda.get_device_name() if current() == "gpu" else "cpu"
    return found
