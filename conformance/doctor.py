"""What this machine can test: versions, devices, compilers, and what will be skipped and why."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from conformance import runtime
from conformance.device import fence, sanitizer
from conformance.emulator import toolchain

PACKAGES = ("conformance", "strategies", "kernels_triton", "kernels_cuda")
BINUTILS = ("nm", "addr2line")

Row = tuple[str, str, bool]


def diagnose() -> Iterator[Row]:
    """Rows of (subject, what was found, whether all is well)."""
    for name, version in runtime.versions().items():
        yield name, version, not (name in ("torch", "triton") and version == "none")
    yield from _interpreter()
    yield from _emulator()
    yield from _devices()
    yield from _shadows()


def skipped() -> Iterator[str]:
    """What cannot be tested here, each with the reason and what would change it."""
    if runtime.current() == "interpret":
        yield "compiled kernels: torch sees no CUDA device (or TRITON_INTERPRET=1 is set); kernels run on the CPU"
        missing = emulator_missing()
        if missing is not None:
            yield f"CUDA kernels: {missing}"
    else:
        if importlib.util.find_spec("cupy") is None:
            yield "CUDA kernels: CuPy is not installed; `pip install cupy-cuda13x`, or cupy-cuda12x for CUDA 12"
        unfenced = fence.unavailable(runtime.device())
        if unfenced is not None:
            yield f"accesses one element past a tensor's end may be missed: {unfenced}"
    if importlib.util.find_spec("triton") is None:
        yield "Triton kernels: Triton is not installed; it has wheels for Linux only"


def emulator_missing() -> str | None:
    """Why CUDA sources cannot run on the CPU here, None if they can."""
    try:
        toolchain.compiler()
        for name in BINUTILS:
            toolchain.tool(name)
    except toolchain.ToolchainError as error:
        return str(error)
    return None


def _interpreter() -> Iterator[Row]:
    """What our interpreter repairs of the installed Triton."""
    if runtime.current() != "interpret" or importlib.util.find_spec("triton") is None:
        return
    import triton  # noqa: F401 - `prepare` installs the interpreter where Triton is loaded

    from conformance import interpreter

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        runtime.prepare()
    unknown = [str(each.message) for each in seen if "interpreter knows Triton" in str(each.message)]
    if unknown:
        yield "interpreter", unknown[0], False
        return
    repairs = interpreter.active()
    yield "interpreter", f"ours; repairs in force: {', '.join(repairs) or 'none, Triton needs none of them'}", True


def _emulator() -> Iterator[Row]:
    """What runs CUDA sources: on the CPU a C++ compiler and binutils, on a GPU CuPy."""
    missing = emulator_missing()
    if missing is not None:
        yield "emulator", missing, runtime.current() == "gpu"
    else:
        path = toolchain.compiler()
        yield "emulator", f"{path}, {_version(path)}; binutils: {', '.join(BINUTILS)}", True
    nvcc = shutil.which("nvcc")
    yield "nvcc", "not on the path, and not needed" if nvcc is None else f"{nvcc}, {_version(nvcc)}", True


def _devices() -> Iterator[Row]:
    import torch

    if not torch.cuda.is_available():
        built = torch.version.cuda
        yield "CUDA device", f"none; torch is built {f'for CUDA {built}' if built else 'for the CPU only'}", True
        yield "fence", "not needed: without a device every address is seen", True
        return
    for number in range(torch.cuda.device_count()):
        major, minor = torch.cuda.get_device_capability(number)
        yield f"CUDA device {number}", f"{torch.cuda.get_device_name(number)}, sm_{major}{minor}", True
    if runtime.current() == "gpu":
        reason = fence.unavailable(runtime.device())
        yield "fence", reason or "tensors end at unmapped pages", reason is None
    try:
        yield "sanitizer", sanitizer.executable(), True
    except sanitizer.SanitizerMissing as error:
        yield "sanitizer", str(error), True


def _version(path: str) -> str:
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run: {error}"
    lines = [line for line in shown.splitlines() if any(character.isdigit() for character in line)]
    return lines[0].strip() if lines else "version unknown"


def _shadows() -> Iterator[Row]:
    """A second package called like one of ours, which Python would import in its place from another folder."""
    for name in PACKAGES:
        found: list[Path] = []
        for folder in dict.fromkeys(sys.path):
            base = Path(folder or ".").resolve()
            package, module = base / name, base / f"{name}.py"
            # a folder without Python files shadows nothing, nor does a file like the command `conformance`
            if package.is_dir() and any(package.glob("*.py")):
                found.append(package)
            if module.is_file():
                found.append(module)
        distinct = list(dict.fromkeys(found))
        if len(distinct) > 1:
            listed = ", ".join(map(str, distinct))
            yield (
                f"package {name}",
                f"found more than once: {listed}; rename or remove all but the installed one",
                False,
            )
