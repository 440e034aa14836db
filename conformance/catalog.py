"""What the suite has: ops, kernels, oracles and promises, by name, for the command line."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import importlib.util
import inspect
import pkgutil

from conformance import targets
from conformance.op import Op
from conformance.promises import Promises
from conformance.report.explanations import LAUNCH, ORACLES

KERNELS = ("kernels_triton", "kernels_cuda")


def sections() -> dict[str, list[tuple[str, str]]]:
    """Title to rows of (name, meaning): ops, kernels, oracles, promises."""
    return {
        "ops": [(name, _arguments(op)) for name, op in ops().items()],
        "kernels": [(name, "") for name in kernels()],
        "oracles": [
            (name, f"{'[launch] ' if name in LAUNCH else ''}{explanation.law}") for name, explanation in ORACLES.items()
        ],
        "promises": [(name, f"default {default}") for name, default in promises()],
    }


def ops() -> dict[str, Op]:
    """The ops of `conformance.ops` by name."""
    package = importlib.import_module("conformance.ops")  # here: the ops need a moment, and only some commands them
    return {name: op for name in sorted(package.__all__) if isinstance(op := getattr(package, name), Op)}


def find_op(name: str) -> Op:
    """The op of that name in `conformance.ops`, or the `Op` that an import path `module:name` stands for.

    Raises:
        TargetError: no such op; the message names the nearest.
    """
    if ":" in name:
        found = targets.load(name)
        if not isinstance(found, Op):
            raise targets.TargetError(f"{name} is a {type(found).__name__}, not an Op: Op(reference=..., inputs=...)")
        return found
    known = ops()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise targets.TargetError(
            f"there is no op {name!r}: {hint}conformance.ops has {', '.join(known)}; for another operation write "
            "--op module:name of an Op of yours, or --against REF"
        )
    return known[name]


def kernels() -> list[str]:
    """The kernels that ship with the suite, `package.module`, without importing them."""
    names = []
    for package in KERNELS:
        spec = importlib.util.find_spec(package)
        for module in pkgutil.iter_modules(spec.submodule_search_locations if spec is not None else None):
            if spec is not None and module.name not in ("launcher", "__main__") and not module.name.startswith("_"):
                names.append(f"{package}.{module.name}")
    return sorted(names)


def promises() -> list[tuple[str, str]]:
    """The promises and their defaults."""
    return [(field.name, repr(field.default)) for field in dataclasses.fields(Promises)]


def describe(name: str, op: Op) -> str:
    """An op in words: arguments, dtypes, what is declared of it, and its reference."""
    try:
        reference = inspect.getsource(op.reference).strip()
    except (OSError, TypeError):  # builtins have no source
        reference = repr(op.reference)
    declared = [
        f"independent axis {op.independent}" if op.independent else "",
        f"mutates {', '.join(op.mutates)}" if op.mutates else "",
        f"{len(op.relations)} relations" if op.relations else "",
    ]
    dtypes = ", ".join(str(dtype).removeprefix("torch.") for dtype in op.dtypes())
    lines = [
        f"{name}({_arguments(op)})",
        f"  dtypes    {dtypes or 'fixed by its inputs'}",
        f"  declared  {'; '.join(part for part in declared if part) or 'nothing more'}",
        "  reference",
        *(f"    {line}" for line in inspect.cleandoc(reference).splitlines()),
        "",
        f"Test a kernel:  conformance check my_kernels.py:{name} --op {name}",
    ]
    return "\n".join(lines)


def _arguments(op: Op) -> str:
    return ", ".join(op.names)
