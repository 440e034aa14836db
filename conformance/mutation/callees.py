"""What a function of a Python file reaches by name: statements of the file, and kernels that a string names."""

from __future__ import annotations

import ast
import functools
import re
import symtable
from collections.abc import Iterator, Sequence

# What can reach a name that is written nowhere.
_DYNAMIC = {"globals", "eval", "exec"}


@functools.lru_cache(maxsize=64)
def reached(text: str, function: str) -> tuple[ast.stmt, ...]:
    """The statements at the top level of `text` that the function reaches, itself among them, in order.

    One is reached where it binds a name that a reached one uses, or binds none and is no `if __name__ == ...`: it runs
    whenever the file is imported. A name counts wherever it stands, in a string too, so that more may be reached than
    is called, but not less; all are where names are looked up at run time (`globals()`).

    >>> text = "def f(): g()\\ndef g(): pass\\ndef h(): f()\\n"
    >>> [statement.name for statement in reached(text, "f")]
    ['f', 'g']
    """
    statements = ast.parse(text).body
    bound = [_bound(statement) for statement in statements]
    used = [_used(statement) for statement in statements]
    names = {function}
    while True:
        found = [
            i
            for i, statement in enumerate(statements)
            if not _is_program(statement) and (bound[i] & names or not bound[i])
        ]
        more = names.union(*(used[i] for i in found))
        if more & _DYNAMIC:
            return tuple(statements)
        if more == names:
            return tuple(statements[i] for i in found)
        names = more


def lines(statements: Sequence[ast.stmt]) -> set[int]:
    """The numbers of the lines of the statements, with their decorators."""
    starts = [min(n.lineno for n in (s, *getattr(s, "decorator_list", ()))) for s in statements]
    ends = [s.end_lineno or s.lineno for s in statements]
    return {line for start, end in zip(starts, ends, strict=True) for line in range(start, end + 1)}


def launched(statements: Sequence[ast.stmt], kernels: Sequence[str]) -> set[str]:
    """Those of the kernels that a string in the statements names; all of them where none does.

    A string that is put together at run time names every kernel that its fixed parts fit.

    >>> launched(ast.parse('get(f"add_{dtype}")').body, ["add_float32", "scale_float32"])
    {'add_float32'}
    """
    patterns = {pattern for statement in statements for pattern in _patterns(statement)}
    return {name for name in kernels if any(re.fullmatch(pattern, name) for pattern in patterns)} or set(kernels)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that the statement gives or changes a value."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):  # `TABLE.update(...)` changes TABLE
        return _root(call.func)
    stored = (n for n in ast.walk(statement) if isinstance(n, ast.Subscript | ast.Attribute))
    changed = {name for node in stored if isinstance(node.ctx, ast.Store) for name in _root(node)}
    return changed | {symbol.get_name() for symbol in _table(statement).get_symbols() if symbol.is_assigned()}


def _root(node: ast.expr) -> set[str]:
    """The name at the start of `name.attribute[index]`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _used(statement: ast.stmt) -> set[str]:
    """The names of the file that the statement reads, in functions too, and its strings."""
    found = {n.value for n in ast.walk(statement) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    waiting = [_table(statement)]
    while waiting:
        table = waiting.pop()
        here = table.get_type() == "module"
        found |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (here or s.is_global())}
        waiting += table.get_children()
    return found


def _table(statement: ast.stmt) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(statement), "statement", "exec")


def _is_program(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _patterns(statement: ast.stmt) -> Iterator[str]:
    """A regular expression for each string of the statement: what is filled in at run time may be any word."""
    for node in ast.walk(statement):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w*" for part in node.values
            )
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield "".join(_side(side) for side in (node.left, node.right))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # `%s` and `{}` of a template, and the arguments of an instance, which the text names without them
            name = node.value.partition("<")[0]
            yield re.sub(r"%\w|\\\{[^{}]*\\\}", r"\\w*", re.escape(name))


def _side(side: ast.expr) -> str:
    return re.escape(side.value) if isinstance(side, ast.Constant) and isinstance(side.value, str) else r"\w*"
