"""Mutants of Python text with Triton kernels, one edit each: what changes behaviour must meet an objection."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from conformance.mutation.mutant import Mutant, edit

_STRIDE = re.compile(r"stride|step", re.I)
_EPS = re.compile(r"\beps", re.I)
_TRANSFERS = ("load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas")
_NARROWER = {"int64": "int32", "int32": "int16"}
# the position of a mask among the arguments of each, where it is not given by name
_MASK_AT = {"load": 1}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}


def mutants(text: str) -> Iterator[Mutant]:
    """Every single-edit mutant of the `@triton.jit` functions in `text` and of the launches around them, by line.

    Kinds, in kernels: "unmask" a load or store, "drop" one side of an `&`, a cast, a `+=`, a subtracted maximum or an
    eps; "other" value; "swap" two strides, "stride" 1; "widen" and "narrow" a comparison; "narrow" an accumulator;
    "range" one step shorter or later; "clip" a minimum, maximum or choice to one side; "constant"; "reorder" a store
    and the load beside it. In kernels and launchers: "floor" a cdiv. In launchers: "grid" one program less, "swap"
    `stride(0)` and `stride(1)`.

    Raises:
        SyntaxError: the text is no Python.

    >>> kernel = "@triton.jit\\ndef f(p, n):\\n    i = tl.arange(0, 8)\\n    tl.store(p + i, 1, mask=i < n)\\n"
    >>> [str(m) for m in mutants(kernel)][0]
    'line 4: unmask: `i < n` -> `(i < n) == (i < n)`'
    """
    source = _Source(text)
    found: list[Mutant] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found += _kernel(source, node) if is_kernel(node) else _launcher(source, node)
    unique = {mutant.text: mutant for mutant in found if mutant.text != text}
    yield from sorted(unique.values(), key=lambda mutant: mutant.line)


class _Source:
    """A text, and where the nodes of its tree lie in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = text.splitlines()

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The characters of the node; Python counts bytes."""
        return (
            self._at(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._at(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def of(self, node: ast.AST) -> str:
        """The text of the node."""
        start, end = self.span(node)
        return self.text[start:end]

    def replace(self, kind: str, node: ast.AST, after: str) -> Mutant:
        """The mutant with another text for the node."""
        return edit(self.text, kind, *self.span(node), after)


def is_kernel(statement: ast.stmt) -> bool:
    """Whether the statement defines a `@triton.jit` function."""
    return isinstance(statement, ast.FunctionDef) and any(
        ast.unparse(each).partition("(")[0].endswith("jit") for each in statement.decorator_list
    )


def _name(call: ast.AST) -> str:
    """The last name of what is called: `load` of `tl.load(...)`."""
    if not isinstance(call, ast.Call):
        return ""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _kernel(source: _Source, function: ast.FunctionDef) -> Iterator[Mutant]:
    strides = [a.arg for a in function.args.args if _STRIDE.search(a.arg)]
    # tl.store casts by itself
    stored = {id(n.args[1]) for n in ast.walk(function) if isinstance(n, ast.Call) and _name(n) == "store"}
    for node in [n for statement in function.body for n in ast.walk(statement)]:
        if isinstance(node, ast.Call) and not (_name(node) == "to" and id(node) in stored):
            yield from _call(source, node)
        elif isinstance(node, ast.BinOp):
            yield from _operation(source, node, strides)
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS and len(node.ops) == 1:
            sign, other = _COMPARISONS[type(node.ops[0])]
            left, right = source.of(node.left), source.of(node.comparators[0])
            kind = "widen" if len(other) == 2 else "narrow"
            yield source.replace(kind, node, f"{left} {other} {right}")
            yield source.replace("narrow", node, f"{left} {'+' if sign[0] == '<' else '-'} 1 {sign} {right}")
        elif isinstance(node, ast.AugAssign):
            yield source.replace("drop", node, "pass")
            if isinstance(node.value, ast.BinOp) and isinstance(node.op, ast.Add):
                yield source.replace("sign", node, f"{source.of(node.target)} -= {source.of(node.value)}")
        elif isinstance(node, ast.Constant) and type(node.value) is float:
            yield source.replace("constant", node, repr(node.value + 1.0))
    for node in ast.walk(function):
        yield from _reordered(source, getattr(node, "body", None))


def _call(source: _Source, call: ast.Call) -> Iterator[Mutant]:
    name = _name(call)
    if name in _TRANSFERS:
        mask = next((k.value for k in call.keywords if k.arg == "mask"), None)
        at = _MASK_AT.get(name, 2)
        if mask is None and len(call.args) > at:
            mask = call.args[at]
        if mask is not None and not isinstance(mask, ast.Constant):
            text = source.of(mask)
            yield source.replace("unmask", mask, f"({text}) == ({text})")
        for keyword in call.keywords:
            if keyword.arg == "other":
                infinite = "inf" in source.of(keyword.value)
                yield source.replace("other", keyword.value, "0.0" if infinite else f"{source.of(keyword.value)} + 1")
                yield source.replace("other", keyword.value, "None")
    elif name == "to" and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        yield source.replace("drop", call, source.of(call.func.value))
    elif name == "cdiv":
        yield _floored(source, call)
    elif name in ("zeros", "full") and call.args:
        dtype = call.args[-1]
        text = source.of(dtype)
        if re.fullmatch(r"[\w.]+", text) and not text.endswith("float16"):
            last = text.rpartition(".")[2]
            yield source.replace("narrow", dtype, f"tl.{_NARROWER.get(last, 'float16')}")
    elif name == "range":
        yield from _range(source, call)
    elif (name in ("minimum", "maximum") and len(call.args) == 2) or (name == "where" and len(call.args) == 3):
        for argument in call.args[-2:]:
            yield source.replace("clip", call, source.of(argument))
    elif name == "dot" and len(call.args) == 3:
        yield source.replace("drop", call.args[2], f"{source.of(call.args[2])} * 0")
    if name == "exp" and call.args and isinstance(call.args[0], ast.BinOp) and isinstance(call.args[0].op, ast.Sub):
        yield source.replace("drop", call.args[0], source.of(call.args[0].left))


def _range(source: _Source, call: ast.Call) -> Iterator[Mutant]:
    first, last = (call.args[0], call.args[1]) if len(call.args) > 1 else (None, call.args[0])
    step = source.of(call.args[2]) if len(call.args) > 2 else "1"
    yield source.replace("range", last, f"({source.of(last)}) - {step}")
    yield source.replace("range", last, f"({source.of(last)}) + {step}")
    if first is not None:
        yield source.replace("range", first, f"({source.of(first)}) + {step}")


def _operation(source: _Source, node: ast.BinOp, strides: list[str]) -> Iterator[Mutant]:
    left, right = source.of(node.left), source.of(node.right)
    if isinstance(node.op, ast.BitAnd):
        yield source.replace("drop", node, left)
        yield source.replace("drop", node, right)
    elif (isinstance(node.op, ast.Add) and _EPS.search(right)) or isinstance(node.op, ast.Mod):
        yield source.replace("drop", node, left)
    elif isinstance(node.op, ast.Mult):
        for operand in (node.left, node.right):
            if isinstance(operand, ast.Name) and operand.id in strides:
                following = strides[(strides.index(operand.id) + 1) % len(strides)]
                yield source.replace("swap", operand, following)
                yield source.replace("stride", operand, "1")


def _reordered(source: _Source, body: object) -> Iterator[Mutant]:
    """A store and the statement with a load beside it, the other way round; each must stand on lines of its own."""
    if not isinstance(body, list):
        return
    for one, two in itertools.pairwise(body):
        held = [{_name(n) for n in ast.walk(statement)} for statement in (one, two)]
        simple = all(isinstance(statement, (ast.Assign, ast.Expr)) for statement in (one, two))
        if simple and (("store" in held[0] and "load" in held[1]) or ("load" in held[0] and "store" in held[1])):
            start, end = source.span(one)[0], source.span(two)[1]
            indent = "\n" + " " * one.col_offset
            yield edit(source.text, "reorder", start, end, f"{source.of(two)}{indent}{source.of(one)}")


def _launcher(source: _Source, function: ast.FunctionDef) -> Iterator[Mutant]:
    for node in ast.walk(function):
        if _name(node) == "cdiv":
            assert isinstance(node, ast.Call)
            yield _floored(source, node)
        elif _name(node) == "stride":
            assert isinstance(node, ast.Call)
            if len(node.args) == 1 and source.of(node.args[0]) in ("0", "1"):
                yield source.replace("swap", node.args[0], "1" if source.of(node.args[0]) == "0" else "0")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            sizes = node.func.slice.elts if isinstance(node.func.slice, ast.Tuple) else []
            for size in sizes:
                yield source.replace("grid", size, f"{source.of(size)} - 1")
        elif isinstance(node, ast.FunctionDef) and node.name == "grid":
            for each in [n for n in ast.walk(node) if isinstance(n, ast.Return)]:
                for size in each.value.elts if isinstance(each.value, ast.Tuple) else []:
                    yield source.replace("grid", size, f"{source.of(size)} - 1")


def _floored(source: _Source, call: ast.Call) -> Mutant:
    return source.replace("floor", call, " // ".join(f"({source.of(argument)})" for argument in call.args))
