"""A Python program that runs one call of a kernel and its reference, without Hypothesis."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from conformance.promises import Promises
from strategies import Call


class _Op(Protocol):
    """What a script needs of `conformance.Op`."""

    name: str
    reference: Callable[..., Any]
    reference_names: tuple[str, ...]
    mutates: tuple[str, ...]
    promises: Promises


# Oracles whose objections need not show in what a kernel returns for one call on ordinary memory.
UNSEEN = (
    "bounds",
    "written",
    "inputs_kept",
    "races",
    "offsets",
    "determinism",
    "layouts",
    "batch_invariance",
    "configs",
    "relations",
    "special_values",
)
# Oracles whose objections may be to values that come from memory which nobody wrote.
_OF_VALUES = ("written", "accuracy", "exact", "special_values", "layouts", "batch_invariance", "configs", "relations")


_FROM = re.compile(r"from (\S+) import (\w+)(?: as (\w+))?")
_SPEC = re.compile(r"spec = importlib\.util\.spec_from_file_location\('[^']*', (['\"].*['\"])\)")


def locate(target: object) -> str | None:
    """The import path of a function, `module:name` or `/path/file.py:name`; None where it cannot be imported.

    A module that is no part of a package and not installed, such as a test file, is given as a file, since only pytest
    has its folder on the path.

    >>> locate(locate)
    'conformance.report.snippet:locate'
    >>> locate(lambda: 0) is None
    True
    """
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    if not module or not name or "<" in name:
        return None
    return _path(module, name)


def locate_value(value: object) -> str | None:
    """The import path of a value that is a global variable of a loaded module; None where it is none.

    The module that defines it is taken before those that import it from there: its name is the longest.
    """
    places = [
        (module, name)
        for module, loaded in list(sys.modules.items())
        for name, item in list(vars(loaded).items() if hasattr(loaded, "__dict__") else ())
        if item is value and not name.startswith("_")
    ]
    if not places:
        return None
    return _path(*max(places, key=lambda place: (place[0].count("."), place)))


def _path(module: str, name: str) -> str | None:
    if "." in module:
        return f"{module}:{name}"
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return None if module == "__main__" else f"{module}:{name}"
    if Path(sysconfig.get_path("purelib")) in Path(file).resolve().parents:
        return f"{module}:{name}"
    return f"{Path(file).resolve()}:{name}"


def imported(program: str, name: str) -> str | None:
    """The import path of what a program of `script` calls `name`, its absolute file included; None where it has none.

    >>> imported("from pkg.ops import softmax\\nreference = softmax.reference", "softmax")
    'pkg.ops:softmax'
    """
    file, found = "", None
    for line in map(str.strip, program.splitlines()):
        if (took := _FROM.fullmatch(line)) and (took[3] or took[2]) == name:
            found = f"{took[1]}:{took[2]}"
        elif spec := _SPEC.fullmatch(line):
            file = ast.literal_eval(spec[1])
        elif rest := re.fullmatch(rf"{name} = {name}(_module)?\.([\w.]+)", line):
            found = f"{file}:{rest[2]}" if rest[1] else f"{found}.{rest[2]}"
    return found


def script(
    kernel: str | Callable[..., Any],
    call: Call,
    op: _Op,
    *,
    runtime: str,
    reference: str | None = None,
    meta: Sequence[tuple[str, Any]] = (),
    oracle: str | None = None,
    unseen: bool = False,
    promises: Promises | None = None,
) -> str:
    """A runnable program that builds the inputs with torch, calls the kernel and the reference and prints both.

    `kernel` is a function, or an import path as `locate` gives it. The reference is that of the op unless `reference`
    gives its import path, which may end in an attribute (`conformance.ops.softmax:softmax.reference`); `meta` are
    keywords that the kernel gets beside the arguments. Where `oracle` is one whose objection need not show in values,
    or with `unseen`, which says so of values that come from poisoned memory, the program begins with what it sees, if
    this package is installed and `op` can be imported. Where the objection is
    to values, memory that nobody wrote is filled. The inputs are built anew for each run, so that a kernel that
    writes to its input does not change what the reference sees.
    """
    names = list(call)
    listed = ", ".join(names) + ("," if len(names) == 1 else "")
    lines = [f'"""{op.name}: the smallest call that was found to break a law."""', ""]
    if runtime == "interpret":
        lines += ["import os", "", 'os.environ["TRITON_INTERPRET"] = "1"  # before any kernel is imported', ""]
    path = kernel if isinstance(kernel, str) else locate(kernel)
    loads = [*_load("kernel", path, kernel), *_load("reference", reference or _reference(op), op.reference)]
    files = any(line.startswith("spec = ") for line in loads)
    lines += [*(["import importlib.util", ""] if files else []), "import torch", "", *loads]
    if oracle in _OF_VALUES:
        lines += [
            "",
            "# what nobody wrote may be right by chance: this makes torch.empty NaN, or the largest integer",
        ]
        lines += ["torch.use_deterministic_algorithms(True, warn_only=True)"]
    if runtime == "interpret" and path is not None and path.startswith("kernels_cuda"):
        lines += ["", "from conformance import runtime", "", "runtime.prepare()  # CUDA sources run on the CPU"]
    lines += ["", "", "def inputs():"]
    device = "cpu" if runtime == "interpret" else "cuda"
    lines += [f"    {line}" for line in call.source(device).splitlines()]
    lines += [f"    return {listed}", "", ""]
    keywords = [f"{name}={value!r}" for name, value in meta]
    if oracle is not None and (unseen or oracle in UNSEEN):
        # first, since what follows may write outside its tensors and end the process
        lines += [*_shown(oracle, call, op, promises, meta), ""]
    lines += _run("kernel", listed, _passed(kernel, names, keywords), op.mutates)
    lines += _run("reference", listed, _passed(op.reference, op.reference_names), ())
    return "\n".join(lines) + "\n"


def _shown(oracle: str, call: Call, op: _Op, promises: Promises | None, meta: Sequence[tuple[str, Any]]) -> list[str]:
    """The lines that show what values do not: addresses, and what another launch gives."""
    where = locate_value(op)
    if where is None:
        return [f"# {oracle} sees what values do not show: `conformance replay` of the saved finding shows it"]
    given = [f"{call.to_json()!r}"]
    changed = promises is not None and promises != op.promises
    if changed:
        given.append(f"promises={promises!r}")
    if meta:
        given.append(f"meta={tuple(meta)!r}")
    return [
        f"# what {oracle} sees, and values need not show",
        "try:",
        *(["    from conformance import Promises"] if changed else []),
        "    from conformance.replay import show",
        "except ImportError:",
        '    print("install triton-conformance, and this script shows it too")',
        "else:",
        *(f"    {line}" for line in _load("op", where, op)),
        f"    show({oracle!r}, kernel, op, {', '.join(given)})",
    ]


def _reference(op: _Op) -> str | None:
    found = locate(op.reference)
    if found is None:
        where = locate_value(op)
        found = None if where is None else f"{where}.reference"
    return found


def _run(name: str, listed: str, passed: str, mutates: Iterable[str]) -> list[str]:
    lines = [f"{listed} = inputs()", f"result = {name}({passed})"]
    shown = [*mutates, "result"]
    return [*lines, f'print("{name + ":":<10}", {", ".join(shown)})']


def _passed(function: object, names: Sequence[str], more: Sequence[str] = ()) -> str:
    """The arguments as they are passed: by position, keyword-only parameters by keyword."""
    parameters: Mapping[str, inspect.Parameter] = {}
    if callable(function):
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):  # builtins without a signature take positions
            parameters = {}
    keywords = [
        name for name in names if name in parameters and parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    ]
    positional = [name for name in names if name not in keywords]
    return ", ".join([*positional, *(f"{name}={name}" for name in keywords), *more])


def _load(name: str, path: str | None, target: object) -> list[str]:
    if path is None:
        what = getattr(target, "__qualname__", repr(target))
        message = f"put {what} here: it is no global name of a module, so it cannot be imported"
        return ["", f"def {name}(*arguments):", f"    raise SystemExit({message!r})", ""]
    where, _, attribute = path.rpartition(":")
    root, _, rest = attribute.partition(".")
    if not where.endswith(".py"):
        alias = f"{root} as {name}" if root != name else root
        return [f"from {where} import {alias}", *([f"{name} = {name}.{rest}"] if rest else [])]
    return [
        f"spec = importlib.util.spec_from_file_location({Path(where).stem!r}, {where!r})",
        f"{name}_module = importlib.util.module_from_spec(spec)",
        f"spec.loader.exec_module({name}_module)",
        f"{name} = {name}_module.{attribute}",
    ]
