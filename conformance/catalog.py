"""What the suite has: ops, kernels, oracles and promises, by name, for the command line."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import importlib
import importlib.util
from pathlib import Path

from conformance import targets
from conformance.mutation.jit import is_kernel
from conformance.op import Op
from conformance.promises import Promises
from conformance.report.explanations import LAUNCH, ORACLES

KERNELS = ("kernels_triton", "kernels_cuda")


def sections() -> dict[str, list[tuple[str, str]]]:
    """Title to rows of (name, meaning): ops, kernels, oracles, promises."""
    return {
        "ops": [(name, _arguments(op)) for name, op in ops().items()],
        "kernels": list(kernels().items()),
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
            there = [
                key
                for key, value in targets.load(f"{name.rpartition(':')[0]}:__dict__").items()
                if isinstance(value, Op)
            ]
            raise targets.TargetError(
                f"{name} is a {type(found).__name__}, not an Op: NAME = Op(reference=..., inputs=...)"
                + (f"; there is {', '.join(there)}" if there else "")
            )
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


def kernels() -> dict[str, str]:
    """The kernels that ship with the suite, `package.module`, and what each is, without importing them."""
    found = {}
    for package in KERNELS:
        spec = importlib.util.find_spec(package)
        folders = spec.submodule_search_locations if spec is not None else None
        for path in sorted(path for folder in folders or () for path in Path(folder).glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            if path.with_suffix(".cu").is_file() or any(map(is_kernel, tree.body)):  # others help them
                found[f"{package}.{path.stem}"] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def promises() -> list[tuple[str, str]]:
    """The promises and their defaults."""
    return [(field.name, repr(field.default)) for field in dataclasses.fields(Promises)]


def _arguments(op: Op) -> str:
    return ", ".join(op.names)
