"""Multiset expressions: the tokens that an arc takes or puts.

x                       one token
tokens(x, y, y)         three tokens
times(3, x)             three equal tokens
all_of(items)           one token for each element of a list
times(1, x) + tokens(y) both
tokens(x) if ok else none
"""

import ast
from dataclasses import dataclass
from typing import TypeAlias

from dovemq.models.petri.colours import Anything, Bool, Colour, ColourFit, Int, List, fits
from dovemq.models.petri.errors import ExpressionInvalid
from dovemq.models.petri.functions import BAG_WORDS
from dovemq.models.petri.inference import Scope, Typed, infer, require


@dataclass(frozen=True, slots=True)
class Some:
    """`count` tokens of one value.

    `runtime_check` says that only the run can show whether the value fits the place. `tree` is the
    value as the author wrote it; an input arc reads it as a pattern.
    """

    value: Typed
    count: Typed
    runtime_check: bool
    tree: ast.expr


@dataclass(frozen=True, slots=True)
class Each:
    """One token for each element of a list."""

    items: Typed
    runtime_check: bool


@dataclass(frozen=True, slots=True)
class Conditional:
    test: Typed
    then: "Bag"
    other: "Bag"


Part: TypeAlias = Some | Each | Conditional
Bag: TypeAlias = tuple[Part, ...]

_ONE = Typed(Int(1, 1), ast.Constant(1))


def bag_of(tree: ast.expr, colour: Colour, scope: Scope) -> Bag:
    """Splits a multiset expression over `colour` into its parts."""
    if isinstance(tree, ast.Name) and tree.id == "none":
        return ()
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add) and _is_bag(tree):
        return bag_of(tree.left, colour, scope) + bag_of(tree.right, colour, scope)
    if isinstance(tree, ast.IfExp) and _is_bag(tree):
        test = require(infer(tree.test, scope), Bool(), "a condition")
        then, other = (bag_of(part, colour, scope) for part in (tree.body, tree.orelse))
        return (Conditional(test, then, other),)
    if not isinstance(tree, ast.Call) or _word(tree) not in BAG_WORDS:
        return (_some(tree, _ONE, colour, scope),)
    if tree.keywords:
        raise ExpressionInvalid("a multiset takes its parts by position, not by name")
    if _word(tree) == "tokens":
        return tuple(_some(part, _ONE, colour, scope) for part in tree.args)
    if _word(tree) == "times":
        return (_times(tree, colour, scope),)
    return (_each(tree, colour, scope),)


def _word(tree: ast.expr) -> str:
    return tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""


def _is_bag(tree: ast.expr) -> bool:
    if isinstance(tree, ast.Name):
        return tree.id == "none"
    if isinstance(tree, ast.BinOp):
        return _is_bag(tree.left) or _is_bag(tree.right)
    if isinstance(tree, ast.IfExp):
        return _is_bag(tree.body) or _is_bag(tree.orelse)
    return _word(tree) in BAG_WORDS


def _times(call: ast.Call, colour: Colour, scope: Scope) -> Some:
    if len(call.args) != 2:
        raise ExpressionInvalid("times takes a count and a value")
    count = require(infer(call.args[0], scope), Int(0), "a count of tokens")
    return _some(call.args[1], count, colour, scope)


def _each(call: ast.Call, colour: Colour, scope: Scope) -> Each:
    if len(call.args) != 1:
        raise ExpressionInvalid("all_of takes one list")
    items = infer(call.args[0], scope)
    if not isinstance(items.colour, List | Anything):
        raise ExpressionInvalid(f"all_of takes a list, not {items.colour}")
    element = items.colour.element if isinstance(items.colour, List) else items.colour
    return Each(items, _needs_runtime_check(element, colour))


def _some(tree: ast.expr, count: Typed, colour: Colour, scope: Scope) -> Some:
    value = infer(tree, scope)
    return Some(value, count, _needs_runtime_check(value.colour, colour), tree)


def _needs_runtime_check(found: Colour, wanted: Colour) -> bool:
    fit = fits(found, wanted)
    if fit is ColourFit.NO:
        raise ExpressionInvalid(f"the place holds {wanted}, but this is {found}")
    return fit is ColourFit.MAYBE
