"""What the options of the command line stand for: ops, arguments of an example, dtypes, promises."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.errors import Unusable
from conformance.report.documents import missing_folder

if TYPE_CHECKING:
    from conformance.failures import Finding


class Output(click.Path):
    """A file that a command writes at its end; the folder must be there at the start."""

    def __init__(self, *, allow_dash: bool = False) -> None:
        super().__init__(dir_okay=False, allow_dash=allow_dash)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path.

        Raises:
            Unusable: its folder is missing.
        """
        path = os.fsdecode(super().convert(value, param, ctx))
        if missing := missing_folder(path):
            raise Unusable(f"{path}: {missing}")
        return path


def found_kernel(finding: Finding) -> Any:
    """The kernel that the finding's script imports, or else the one of its name."""
    from conformance import targets
    from conformance.report.snippet import imported

    path = imported(finding.script, "kernel") or ":".join(finding.kernel.rsplit(".", 1))
    try:
        return targets.load_kernel(path)
    except targets.TargetError as error:
        raise Unusable(
            f"the kernel of the finding, {finding.kernel}: {error}. Give it with --target FILE:NAME"
        ) from error


def found_op(finding: Finding) -> Any:
    """The op that the finding's script imports, or else the one of its name in conformance.ops."""
    from conformance import catalog, targets
    from conformance.report.snippet import imported

    reference = imported(finding.script, "reference") or ""
    attribute = reference.removesuffix(".reference") if reference.endswith(".reference") else None
    path = imported(finding.script, "op") or attribute
    if path is None and finding.op not in catalog.ops():
        raise Unusable(
            f"the finding does not say where its op {finding.op!r} is defined: give it with --op FILE:NAME (NAME is "
            "the variable of the Op), or with --against REF and --example where it was checked so"
        )
    try:
        return catalog.find_op(path or finding.op)
    except targets.TargetError as error:
        raise Unusable(f"the op of the finding, {finding.op}: {error}. Give it with --op FILE:NAME") from error


def written_options(
    op: str | None, against: str | None, example: Sequence[str], promises: Sequence[str]
) -> tuple[str, ...]:
    """What a kernel is judged by, as words of the command line; paths of files are made absolute."""
    given = (("--op", [op]), ("--against", [against]), ("--example", example), ("--promise", promises))
    words = [(option, value) for option, values in given for value in values if value is not None]
    return tuple(
        word
        for option, value in words
        for word in (option, _absolute(value) if option in ("--op", "--against") else value)
    )


def _absolute(target: str) -> str:
    file, colon, name = target.rpartition(":")
    return f"{Path(file).resolve()}{colon}{name}" if Path(file).suffix == ".py" and Path(file).is_file() else target


def read_options(
    finding: Finding, promises: Sequence[str]
) -> tuple[str | None, str | None, tuple[str, ...], tuple[str, ...]]:
    """Op, reference, examples and promises that the finding was checked with; `promises` take the place of its own."""
    saved: dict[str, list[str]] = {}
    for option, value in zip(finding.options[::2], finding.options[1::2], strict=False):
        saved.setdefault(option, []).append(value)
    op, against = (next(iter(saved.get(option, ())), None) for option in ("--op", "--against"))
    return op, against, tuple(saved.get("--example", ())), tuple(promises or saved.get("--promise", ()))


def find_op(name: str | None, against: str | None, example: Sequence[str], target: str) -> Any:
    """The op that the options name."""
    from hypothesis.errors import InvalidArgument

    from conformance import catalog, targets
    from conformance.op import Op

    if (name is None) == (against is None):
        known = ", ".join(catalog.ops())
        problem = "does not say what it computes" if name is None else "is given two contracts"
        raise Unusable(
            f"{target} {problem}: give --op NAME (one of {known}, or `module:name` of an Op of yours), or --against "
            "REF, the torch function that it must agree with"
        )
    if name is not None:
        return catalog.find_op(name)
    reference = targets.load_kernel(str(against))
    given = [_evaluate(text) for text in example]
    try:
        op = Op.from_example(reference, *given) if given else Op.from_annotations(reference)
    except InvalidArgument as error:
        raise Unusable(str(error) if given else f"{error}; or give --example once for each argument") from error
    except ValueError as error:
        if "no signature" not in str(error):  # what `inspect` says of a builtin
            raise
        raise Unusable(
            f"{against} is a builtin whose arguments have no names that can be read: give a Python function that calls "
            "it, or --example once for each argument"
        ) from error
    click.echo(f"judged by\n{op.text}\n", err=True)  # standard output may be a JSON document
    return op


def _evaluate(text: str) -> Any:
    """The value of an argument that the user wrote in Python, with torch at hand."""
    import torch

    try:
        return eval(text, {"torch": torch})
    except (Exception, SystemExit) as error:
        raise Unusable(f"--example {text!r} is no argument: {type(error).__name__}: {error}") from error


def find_dtype(name: str) -> Any:
    """The torch dtype of that name, with or without `torch.`."""
    import torch

    dtype = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise Unusable(f"--dtype {name!r} is no torch dtype; write float16, bfloat16, float32, int64, ...")
    return dtype


def read_promises(texts: Sequence[str], op: Any) -> dict[str, Any]:
    """The promises as `check` takes them, whose `dtypes` are those to test and not those that are promised."""
    given = dict(read_promise(text) for text in texts)
    if "dtypes" in given:
        given["promises"] = dataclasses.replace(op.promises, dtypes=given.pop("dtypes"))
    return given


def read_promise(text: str) -> tuple[str, Any]:
    """A promise from `name=value`: booleans, None, dtypes, and tuples of names with commas."""
    from conformance.promises import Promises

    name, equals, value = text.partition("=")
    fields = {field.name: field for field in dataclasses.fields(Promises)}
    if not equals or name not in fields:
        raise Unusable(f"--promise {text!r}: write NAME=VALUE; the promises are {', '.join(sorted(fields))}")
    if value in ("True", "False", "true", "false"):
        return name, value.lower() == "true"
    if name in ("compute", "accumulator"):
        return name, find_dtype(value)
    if name == "dtypes":
        return name, tuple(find_dtype(part) for part in value.split(","))
    if name == "limits":
        pairs = (part.partition(":") for part in value.split(","))
        return name, tuple((axis, int(size)) for axis, _, size in pairs)
    return name, tuple(value.split(",")) if "tuple" in str(fields[name].type) else value
