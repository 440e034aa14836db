"""The functions that the command line is given by name, imported with errors that say what to change."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import io
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HOW = "write `module:function`, `path/to/file.py:function` or `path/to/file.cu:launcher`"

# What torch, Triton and CuPy say where a kernel wants a device and there is none.
NO_DEVICE = (
    "Torch not compiled with CUDA enabled",
    "No CUDA GPUs are available",
    "Found no NVIDIA driver",
    "CUDA driver initialization failed",
    "0 active drivers",
    "cudaErrorNoDevice",
    "cudaErrorInsufficientDriver",
    "no CUDA-capable device",
    "Cannot access accelerator device",
)


class TargetError(Exception):
    """A target cannot be used; the message says why and what to do."""


def load(target: str) -> Any:
    """The object that `module:name`, `file.py:name` or `file.cu:name` stands for; the name may have dots.

    A .cu file stands for the launcher of the same name beside it. What the module prints while it is imported is
    thrown away, since standard output may be a JSON document.

    Raises:
        TargetError: no such file, module or name, or the import fails: syntax error, exception, sys.exit, no device.
    """
    where, _, name = target.rpartition(":")
    if not where or not name:
        package, dot, attribute = target.rpartition(".")
        meant = f"; did you mean {package}:{attribute}?" if dot and "/" not in target and attribute != "py" else ""
        raise TargetError(f"{target!r} does not say which function of which file: {HOW}{meant}")
    module = _module(where)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise TargetError(f"{where} has no {name!r}{_instead(name, _public(module))}")
        found = getattr(found, part)
    return found


def load_kernel(target: str) -> Any:
    """The kernel that the target names: a callable Python function that launches it.

    Raises:
        TargetError: also where the object is a `@triton.jit` function, or cannot be called.
    """
    kernel = load(target)
    kind = type(kernel)
    if kind.__module__.startswith("triton.") and hasattr(kernel, "run"):
        raise TargetError(
            f"{target} is a @triton.jit function, which has no arguments of the op yet: give its launcher, the Python "
            "function that allocates the output and calls it with a grid"
        )
    if not callable(kernel):
        raise TargetError(
            f"{target} is a {kind.__name__} and cannot be called: give the function that launches the kernel"
        )
    return kernel


def needs_device(text: str) -> bool:
    """Whether an error message says that a CUDA device is needed and there is none."""
    return any(phrase in text for phrase in NO_DEVICE)


def _module(where: str) -> ModuleType:
    path = Path(where)
    if path.suffix == ".cu":
        if not path.is_file():
            raise TargetError(f"there is no file {where}")
        if not path.with_suffix(".py").is_file():
            raise TargetError(
                f"{where} has no launcher beside it: {path.with_suffix('.py').name} must define a Python function that "
                "allocates the output and launches the kernel on torch tensors"
            )
        path = path.with_suffix(".py")
    if path.suffix == ".py":
        if not path.is_file():
            raise TargetError(f"there is no file {where}")
        return _from_file(path.resolve())
    if "/" in where:
        raise TargetError(f"{where!r} is neither a module nor a .py or .cu file: {HOW}")
    return _from_name(where)


def _from_file(path: Path) -> ModuleType:
    name = path.stem
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    if known is not None:  # a file called like a module in use must not replace it
        name = f"{name}_target"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # its imports of the files beside it work as with `python file.py`
    sys.modules[name] = module
    try:
        with _importing(str(path)):
            spec.loader.exec_module(module)
    except TargetError:
        del sys.modules[name]
        raise
    return module


def _from_name(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with _importing(name):
            return importlib.import_module(name)
    except TargetError as error:
        cause = error.__cause__
        if (
            isinstance(cause, ModuleNotFoundError)
            and cause.name is not None
            and f"{name}.".startswith(f"{cause.name}.")
        ):
            file = Path(f"{name}.py")
            hint = f"; there is a file {file}: write {file}:..." if file.is_file() else ""
            raise TargetError(
                f"there is no module {cause.name!r} in this folder or in this environment{hint}"
            ) from cause
        raise


@contextlib.contextmanager
def _importing(what: str) -> Iterator[None]:
    """Turn everything that an import can raise into a TargetError."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield
    except SyntaxError as error:
        source = f"\n    {error.text.strip()}" if error.text else ""
        raise TargetError(f"{error.filename}:{error.lineno}: syntax error: {error.msg}{source}") from error
    except SystemExit as error:
        raise TargetError(
            f"{what} calls sys.exit({error.code!r}) while it is imported: put what it runs as a program under "
            '`if __name__ == "__main__":`'
        ) from error
    except Exception as error:
        raise TargetError(_words(what, error)) from error


def _words(what: str, error: Exception) -> str:
    if needs_device(str(error)):
        return (
            f"{what} needs a GPU while it is imported ({error}). Create tensors inside functions, on the device of "
            "their arguments; then the kernel can run on the CPU here"
        )
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    frames = [frame for frame in frames if frame.filename != __file__]
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{what} cannot be imported: {type(error).__name__}: {error}{place}"


def _public(module: ModuleType) -> list[str]:
    """What a command may mean: the module's own functions, and its ops."""
    return [name for name, value in vars(module).items() if not name.startswith("_") and _own(module, value)]


def _own(module: ModuleType, value: object) -> bool:
    from conformance.op import Op  # torch, which the module that was asked for has loaded

    if isinstance(value, Op):
        return True
    origin = getattr(value, "__module__", None) or ""
    return callable(value) and not isinstance(value, type) and f"{origin}.".startswith(f"{module.__name__}.")


def _instead(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; it has {', '.join(sorted(known)[:12])}" if known else ""
