"""Python's words as the compiler understands them: `and`, `or`, `not`, chained comparisons, `for`, `break`, `x.value`.

Triton's interpreter rewrites a kernel's syntax tree before it runs; these rewritings are added to its own. A condition
of two tensors is an elementwise operation for the compiler (both sides are evaluated), where Python would ask the
first one for its truth.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from typing import Any

import triton.language as tl
import triton.runtime.interpreter as stock

from conformance.interpreter import loops
from conformance.interpreter.blocks import Blocks

# what a rewritten kernel calls, by the one name that is added to its globals
_NAME = "_conformance_words"


class Words:
    """The functions that stand for Python's words."""

    def __init__(self, builder: Blocks) -> None:
        self.builder = builder
        self.loop = functools.partial(loops.loop, builder)

    def both(self, word: str, *operands: Callable[[], Any]) -> Any:
        """`a and b`, `a or b`: the last constant that decides, or the operands joined elementwise."""
        joined = None
        value: Any = None
        for operand in operands:
            value = operand()
            if isinstance(value, tl.tensor):
                joined = value if joined is None else getattr(joined, f"logical_{word}")(value)
            elif bool(value) == (word == "or"):
                return value
        return value if joined is None else joined

    def negate(self, value: Any) -> Any:
        """`not a`."""
        return value.__not__() if isinstance(value, tl.tensor) else not value

    def extreme(self, word: str, *values: Any, **options: Any) -> Any:
        """`max(a, b)` and `min(a, b)`, elementwise when a value is a tensor."""
        if not any(isinstance(v, tl.tensor) for v in values):
            return getattr(builtins, word)(*values, **options)
        join = tl.maximum if word == "max" else tl.minimum
        result = values[0]
        for value in values[1:]:
            result = join(result, value)
        return result

    def constant(self, value: Any) -> Any:
        """`value.value`, where the compiler has a constexpr and the interpreter what is in it."""
        return value if value is None or isinstance(value, (int, float, str, tuple, tl.dtype)) else value.value

    def refuse(self, word: str) -> None:
        """A statement that the compiler does not know."""
        self.builder.reject(f"`{word}` in a loop: the compiler has no such statement")


def _call(function: str, arguments: list[ast.expr], node: ast.AST) -> ast.Call:
    name = ast.Attribute(value=ast.Name(id=_NAME, ctx=ast.Load()), attr=function, ctx=ast.Load())
    return ast.copy_location(ast.Call(func=name, args=arguments, keywords=[]), node)


def _named(function: ast.expr) -> str:
    """The last part of the name of a called function."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _later(value: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=nothing, body=value)


class _Rewriter(stock.ASTTransformer):  # type: ignore[misc]
    """Triton's own rewriting and ours. `chains` where Triton leaves `a < b < c` to Python (3.7, 3.8)."""

    def __init__(self, chains: bool) -> None:
        self.chains, self.loops = chains, 0

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802 - ast's names
        if self.chains:  # up to Triton 3.8 the right side of an assignment is not visited
            node.value = self.visit(node.value)
        result: ast.AST = super().visit_Assign(node)
        return result

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        word = "and" if isinstance(node.op, ast.And) else "or"
        return _call("both", [ast.Constant(word), *map(_later, node.values)], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        return _call("negate", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        if not self.chains or len(node.ops) == 1:
            own: Any = getattr(super(), "visit_Compare", None) or self.generic_visit
            result: ast.AST = own(node)
            return result
        self.generic_visit(node)
        left, pairs = node.left, []
        for op, right in zip(node.ops, node.comparators, strict=True):
            pairs.append(_later(ast.copy_location(ast.Compare(left=left, ops=[op], comparators=[right]), node)))
            left = right
        return _call("both", [ast.Constant("and"), *pairs], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("max", "min") and not node.keywords:
            return _call("extreme", [ast.Constant(node.func.id), *node.args], node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        reads = node.attr == "value" and isinstance(node.ctx, ast.Load)
        return _call("constant", [node.value], node) if reads else node

    def _loop(self, node: ast.AST) -> ast.AST:
        self.loops += 1
        self.generic_visit(node)
        self.loops -= 1
        return node

    visit_While = _loop  # noqa: N815

    def visit_For(self, node: ast.For) -> ast.AST:  # noqa: N802
        self._loop(node)
        values = node.iter
        # the compiler unrolls loops over anything else, tl.static_range too
        if isinstance(values, ast.Call) and _named(values.func) == "range":
            node.iter = _call("loop", [values.func, *values.args], values)
            node.iter.keywords = values.keywords
        return node

    def _refused(self, node: ast.stmt) -> Any:
        self.generic_visit(node)
        if not self.loops:
            return node
        word = type(node).__name__.lower()
        return [ast.copy_location(ast.Expr(_call("refuse", [ast.Constant(word)], node)), node), node]

    visit_Break = visit_Continue = visit_Return = _refused  # noqa: N815


def teach(builder: Blocks, chains: bool) -> None:
    """Have kernels rewritten with our words. Kernels that were rewritten before are rewritten anew."""
    setattr(stock, _NAME, Words(builder))  # the rewriter copies its module's names into a kernel's globals
    stock.FunctionRewriter.ast_transformer = _Rewriter(chains)
    stock.InterpretedFunction.rewritten_fn.clear()
