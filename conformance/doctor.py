"""What this machine can test: versions, devices, compilers, and what will be skipped and why."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from conformance import runtime
from conformance.device import fence

PACKAGES = ("conformance", "strategies", "kernels_triton", "kernels_cuda")
COMPILERS = ("g++", "clang++")


def diagnose() -> Iterator[tuple[str, str, bool]]:
    """Rows of (subject, what was found, whether all is well)."""
    for name, version in runtime.versions().items():
        yield name, version, not (name in ("torch", "triton") and version == "none")
    yield from _devices()
    yield from _compilers()
    yield from _shadows()


def skipped() -> Iterator[str]:
    """What cannot be tested here, each with the reason and what would change it."""
    if runtime.current() == "interpret":
        yield "compiled kernels: torch sees no CUDA device (or TRITON_INTERPRET=1 is set); kernels run on the CPU"
        if not any(shutil.which(name) for name in COMPILERS):
            yield f"CUDA kernels: none of {', '.join(COMPILERS)} is on the path, and running them on the CPU needs one"
    elif importlib.util.find_spec("cupy") is None:
        yield "CUDA kernels: CuPy is not installed; `pip install triton-conformance[gpu]`"
    if importlib.util.find_spec("triton") is None:
        yield "Triton kernels: Triton is not installed; it has wheels for Linux only"


def _devices() -> Iterator[tuple[str, str, bool]]:
    import torch

    if not torch.cuda.is_available():
        built = torch.version.cuda
        yield "CUDA device", f"none; torch is built {f'for CUDA {built}' if built else 'for the CPU only'}", True
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        major, minor = torch.cuda.get_device_capability(number)
        yield f"CUDA device {number}", f"{torch.cuda.get_device_name(number)}, sm_{major}{minor}", True
        missing = fence.unavailable(torch.device("cuda", number))
        yield f"fence of device {number}", missing or "works", missing is None


def _compilers() -> Iterator[tuple[str, str, bool]]:
    for name in (*COMPILERS, "nvcc"):
        path = shutil.which(name)
        yield name, "not on the path" if path is None else f"{path}, {_version(path)}", True


def _version(path: str) -> str:
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run: {error}"
    lines = [line for line in shown.splitlines() if any(character.isdigit() for character in line)]
    return lines[0].strip() if lines else "version unknown"


def _shadows() -> Iterator[tuple[str, str, bool]]:
    """A second package called like one of ours, which Python would import in its place from another folder."""
    for name in PACKAGES:
        found: list[Path] = []
        for folder in dict.fromkeys(sys.path):
            base = Path(folder or ".").resolve()
            for candidate in (base / name, base / f"{name}.py"):
                # a folder without Python files (a data folder of the same name) shadows nothing
                if candidate.is_file() or (candidate.is_dir() and any(candidate.glob("*.py"))):
                    found.append(candidate)
        if len(found) > 1:
            listed = ", ".join(map(str, found))
            yield (
                f"package {name}",
                f"found more than once: {listed}; rename or remove all but the installed one",
                False,
            )
