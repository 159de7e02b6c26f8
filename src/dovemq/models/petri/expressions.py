"""Parsing: the text of an expression becomes a syntax tree of allowed nodes.

Expressions are a part of Python: numbers, strings, tuples, lists, comparisons, arithmetic,
`if … else`, comprehensions, fields of records, and calls of functions by name. An expression
cannot import, read an attribute of an object, call something undeclared or loop for ever.
Colours are checked in `inference.py`.
"""

import ast
from collections.abc import Iterable
from typing import Final

from dovemq.models.petri.errors import ExpressionInvalid

LENGTH_MAX: Final = 4_000
DEPTH_MAX: Final = 40
INT_DIGITS_MAX: Final = 30

_NODES: Final = (
    ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod,
    ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn,
    ast.IfExp, ast.Name, ast.Load, ast.Store, ast.Constant, ast.Tuple, ast.List, ast.Starred,
    ast.Subscript, ast.Slice, ast.Attribute, ast.Call, ast.keyword,
    ast.ListComp, ast.GeneratorExp, ast.comprehension,
)  # fmt: skip


def parse(text: str) -> ast.expr:
    """Parses an expression and refuses nodes that are not allowed."""
    if len(text) > LENGTH_MAX:
        raise ExpressionInvalid(f"longer than {LENGTH_MAX} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        problem = error.msg if isinstance(error, SyntaxError) else "cannot be read"
        raise ExpressionInvalid(f"{text!r} is not an expression: {problem}") from None
    _check(tree, 0)
    return tree


def _check(node: ast.AST, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ExpressionInvalid(f"nested deeper than {DEPTH_MAX}")
    if not isinstance(node, _NODES):
        raise ExpressionInvalid(f"{type(node).__name__} is not allowed in an expression")
    if isinstance(node, ast.Constant):
        _check_constant(node.value)
    elif isinstance(node, ast.Call):
        _check_call(node)
    elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        raise ExpressionInvalid(
            f"{node.attr} is not a field: names of fields do not start with an underscore"
        )
    elif isinstance(node, ast.Name) and node.id.startswith("_"):
        raise ExpressionInvalid(f"{node.id} is not a name: names do not start with an underscore")
    elif isinstance(node, ast.comprehension) and node.is_async:
        raise ExpressionInvalid("async is not allowed in an expression")
    for child in ast.iter_child_nodes(node):
        _check(child, depth + 1)


def _check_constant(value: object) -> None:
    if not isinstance(value, bool | int | float | str):
        raise ExpressionInvalid(f"{value!r} is not a value that tokens can have")
    if isinstance(value, int) and len(str(abs(value))) > INT_DIGITS_MAX:
        raise ExpressionInvalid(f"a number has more than {INT_DIGITS_MAX} digits")


def _check_call(node: ast.Call) -> None:
    if not isinstance(node.func, ast.Name):
        raise ExpressionInvalid("only a function can be called, by its name")
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if starred or any(keyword.arg is None for keyword in node.keywords):
        raise ExpressionInvalid("arguments cannot be starred")


def names_in(tree: ast.AST) -> set[str]:
    """The names that an expression reads, without those that a comprehension binds itself."""
    if isinstance(tree, ast.Name):
        return {tree.id}
    if isinstance(tree, ast.ListComp | ast.GeneratorExp):
        # From the inside out: a generator binds names for all that follows its own source.
        names = names_in(tree.elt)
        for part in reversed(tree.generators):
            names = names.union(*map(names_in, part.ifs)) - names_in(part.target)
            names |= names_in(part.iter)
        return names
    parts: Iterable[ast.AST] = ast.iter_child_nodes(tree)
    if isinstance(tree, ast.Call):
        parts = (*tree.args, *tree.keywords)
    return {name for part in parts for name in names_in(part)}


def conjuncts(tree: ast.expr) -> list[ast.expr]:
    """Splits a condition at its `and`s, so that a search can test each part early."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return [part for value in tree.values for part in conjuncts(value)]
    return [tree]
