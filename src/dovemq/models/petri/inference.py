"""Type inference: the colour of an expression, and its tree in the form that is compiled.

`Checker` walks a parsed expression once. It finds the colour of every part, or raises an error,
and builds a new tree, in which names say what they refer to:

    m.id + len(q) > limit     becomes     v_m[0] + f_len(v_q) > c_limit

Variables get the prefix `v_`, constants `c_`, functions `f_`, makers of records `k_`; fields of
records become positions and lists become tuples. Because only such trees are compiled, no name of
a net can reach a name of Python. Multisets are not handled here but in `bags.py`.
"""

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import add, neg, sub
from typing import Any, Final

from dovemq.models.petri.colours import (
    Anything,
    Bool,
    Colour,
    ColourFit,
    Enum,
    Int,
    List,
    Nothing,
    Product,
    Real,
    Record,
    Unit,
    fits,
    joined,
    known,
)
from dovemq.models.petri.errors import ExpressionInvalid
from dovemq.models.petri.functions import BAG_WORDS, FUNCTIONS, Function, join

_WORDS: Final = (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Tuple)


@dataclass(frozen=True, slots=True)
class Typed:
    """A part of an expression: its colour, and the tree to compile."""

    colour: Colour
    node: ast.expr

    @property
    def code(self) -> str:
        """The source text, in parentheses unless it is one word, so that other code can hold it."""
        text = ast.unparse(self.node)
        return text if isinstance(self.node, _WORDS) else f"({text})"

    @property
    def calls(self) -> set[str]:
        """The functions that it calls, by their names in the net."""
        return {name[2:] for name in self._names if name.startswith("f_")}

    @property
    def reads_time(self) -> bool:
        return "now" in self._names

    @property
    def _names(self) -> set[str]:
        return {each.id for each in ast.walk(self.node) if isinstance(each, ast.Name)}


Marking = Callable[[str, str], ast.expr]
"""Maps `size` or `length` and the name of a place to the tree that reads it; for monitors."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that an expression may use."""

    variables: Mapping[str, Colour] = field(default_factory=dict)
    constants: Mapping[str, Colour] = field(default_factory=dict)
    records: Mapping[str, Record] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=lambda: FUNCTIONS)
    chance: bool = False
    clock: Colour | None = None
    marking: Marking | None = None

    def knowing(self, **variables: Colour) -> "Scope":
        return replace(self, variables={**self.variables, **variables})


_NUMBER: Final = Real()
MIXED_LIST: Final = "a list cannot hold both {} and {}"
_COMPARISONS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def infer(tree: ast.expr, scope: Scope) -> Typed:
    return Checker(scope).typed(tree)


def require(typed: Typed, wanted: Colour, what: str) -> Typed:
    if fits(typed.colour, wanted) is ColourFit.NO:
        raise ExpressionInvalid(f"{what} must be {wanted}, but this is {typed.colour}")
    return typed


class Checker:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def typed(self, node: ast.expr) -> Typed:
        # One method for each kind of node: ast.BoolOp is typed by `_boolop`.
        rule: Callable[[Any], Typed] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if rule is None:
            raise ExpressionInvalid(f"{ast.unparse(node)!r} is not allowed here")
        return rule(node)

    def _constant(self, node: ast.Constant) -> Typed:
        return Typed(colour_of(node.value), node)

    def _name(self, node: ast.Name) -> Typed:
        name, scope = node.id, self._scope
        if name == "now":
            if scope.clock is None:
                raise ExpressionInvalid("now cannot be used here")
            return Typed(scope.clock, node)
        if name in scope.variables:
            return Typed(scope.variables[name], _named(f"v_{name}"))
        if name in scope.constants:
            return Typed(scope.constants[name], _named(f"c_{name}"))
        if name in scope.functions or name in scope.records:
            raise ExpressionInvalid(f"{name} must be called: {name}(…)")
        raise ExpressionInvalid(f"unknown name {name!r}: neither a variable nor a constant")

    def _boolop(self, node: ast.BoolOp) -> Typed:
        parts = [
            require(self.typed(value), Bool(), "each side of and, or") for value in node.values
        ]
        return Typed(Bool(), ast.BoolOp(node.op, [part.node for part in parts]))

    def _unaryop(self, node: ast.UnaryOp) -> Typed:
        inner = self.typed(node.operand)
        made = ast.UnaryOp(node.op, inner.node)
        if isinstance(node.op, ast.Not):
            require(inner, Bool(), "the operand of not")
            return Typed(Bool(), made)
        require(inner, _NUMBER, "the operand of a sign")
        if not isinstance(inner.colour, Int):
            return Typed(Real(), made)
        least, most = inner.colour.least, inner.colour.most
        if isinstance(node.op, ast.UAdd):
            return Typed(inner.colour, made)
        return Typed(Int(known(neg, most), known(neg, least)), made)

    def _binop(self, node: ast.BinOp) -> Typed:
        left, right = self.typed(node.left), self.typed(node.right)
        made = ast.BinOp(left.node, node.op, right.node)
        if isinstance(node.op, ast.Add) and isinstance(left.colour, List):
            both = joined(left.colour, right.colour)
            if not isinstance(both, List):
                raise ExpressionInvalid(f"cannot add {right.colour} to {left.colour}")
            return Typed(List(both.element), made)
        for side in (left, right):
            require(side, _NUMBER, f"each side of {_sign(node.op)}")
        return Typed(_number_of(node.op, left.colour, right.colour), made)

    def _compare(self, node: ast.Compare) -> Typed:
        parts = [self.typed(part) for part in (node.left, *node.comparators)]
        for op, left, right in zip(node.ops, parts[:-1], parts[1:], strict=True):
            _check_comparison(op, left.colour, right.colour)
        nodes = [part.node for part in parts]
        return Typed(Bool(), ast.Compare(nodes[0], node.ops, nodes[1:]))

    def _ifexp(self, node: ast.IfExp) -> Typed:
        test = require(self.typed(node.test), Bool(), "a condition")
        then, other = self.typed(node.body), self.typed(node.orelse)
        both = join(then.colour, other.colour, "one branch is {}, the other {}")
        return Typed(both, ast.IfExp(test.node, then.node, other.node))

    def _tuple(self, node: ast.Tuple) -> Typed:
        if not node.elts:
            return Typed(Unit(), node)
        parts = [self.typed(part) for part in node.elts]
        made = ast.Tuple([part.node for part in parts], ast.Load())
        return Typed(Product(tuple(part.colour for part in parts)), made)

    def _list(self, node: ast.List) -> Typed:
        element: Colour = Nothing()
        nodes: list[ast.expr] = []
        for part in node.elts:
            starred = isinstance(part, ast.Starred)
            typed = self.typed(part.value if isinstance(part, ast.Starred) else part)
            colour = _element_of(typed.colour) if starred else typed.colour
            nodes.append(ast.Starred(typed.node, ast.Load()) if starred else typed.node)
            element = join(element, colour, MIXED_LIST)
        return Typed(List(element), ast.Tuple(nodes, ast.Load()))

    def _subscript(self, node: ast.Subscript) -> Typed:
        whole = self.typed(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._slice(whole, node.slice)
        at = require(self.typed(node.slice), Int(), "a position")
        made = ast.Subscript(whole.node, at.node, ast.Load())
        if isinstance(whole.colour, List):
            return Typed(whole.colour.element, made)
        if isinstance(whole.colour, Product) and isinstance(at.colour, Int):
            position = at.colour.least
            # Parts of a product differ in colour: the position must be a constant.
            if position == at.colour.most and position is not None:
                if 0 <= position < len(whole.colour.parts):
                    return Typed(whole.colour.parts[position], made)
                raise ExpressionInvalid(f"{whole.colour} has no part {position}")
        raise ExpressionInvalid(f"{whole.colour} needs a constant position")

    def _slice(self, whole: Typed, cut: ast.Slice) -> Typed:
        if not isinstance(whole.colour, List) or cut.step is not None:
            raise ExpressionInvalid("only a list can be sliced, and without a step")
        ends = [
            None if end is None else require(self.typed(end), Int(), "a position").node
            for end in (cut.lower, cut.upper)
        ]
        made = ast.Subscript(whole.node, ast.Slice(ends[0], ends[1]), ast.Load())
        return Typed(List(whole.colour.element), made)

    def _attribute(self, node: ast.Attribute) -> Typed:
        whole = self.typed(node.value)
        if not isinstance(whole.colour, Record):
            raise ExpressionInvalid(f"{ast.unparse(node.value)} is {whole.colour}, not a record")
        names = whole.colour.names
        if node.attr not in names:
            raise ExpressionInvalid(f"no field {node.attr!r}: there are {', '.join(names)}")
        at = names.index(node.attr)
        made = ast.Subscript(whole.node, ast.Constant(at), ast.Load())
        return Typed(whole.colour.parts[at], made)

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> Typed:
        # Each generator sees the variables of those before it.
        inner, parts = self, []
        for part in node.generators:
            inner, made = inner._generator(part)
            parts.append(made)
        element = inner.typed(node.elt)
        made_list = ast.GeneratorExp(element.node, parts)
        call = ast.Call(_named("tuple"), [made_list], [])
        # `any(… for …)` stays lazy; a list must become a tuple, since tokens are hashable.
        lazy = isinstance(node, ast.GeneratorExp)
        return Typed(List(element.colour), made_list if lazy else call)

    _generatorexp = _listcomp

    def _generator(self, part: ast.comprehension) -> tuple["Checker", ast.comprehension]:
        source = self.typed(part.iter)
        bound: dict[str, Colour] = {}
        target = _target(part.target, _element_of(source.colour), bound)
        inner = Checker(self._scope.knowing(**bound))
        tests = [require(inner.typed(test), Bool(), "a condition").node for test in part.ifs]
        return inner, ast.comprehension(target, source.node, tests, 0)

    def _call(self, node: ast.Call) -> Typed:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in BAG_WORDS:
            raise ExpressionInvalid(f"{name}(…) is a multiset, but a single value is expected here")
        if name in ("size", "length"):
            return self._marking(name, node)
        if name == "replace":
            return self._replace(node)
        if name in self._scope.records:
            return self._record(self._scope.records[name], name, node)
        function = self._scope.functions.get(name)
        if function is None:
            raise ExpressionInvalid(f"no function {name!r} is declared")
        if function.chance and not self._scope.chance:
            raise ExpressionInvalid(f"{name} is random, which is not allowed here")
        if node.keywords:
            raise ExpressionInvalid(f"{name} takes its arguments by position, not by name")
        parts = [self.typed(argument) for argument in node.args]
        colour = function.result(name, [part.colour for part in parts])
        return Typed(colour, ast.Call(_named(f"f_{name}"), [part.node for part in parts], []))

    def _record(self, record: Record, name: str, node: ast.Call) -> Typed:
        given = self._fields(record, node)
        if len(given) < len(record.names):
            missing = [field for field in record.names if field not in given]
            raise ExpressionInvalid(f"{name} lacks {', '.join(missing)}")
        parts = [given[field] for field in record.names]
        colour = Record(
            tuple((field, part.colour) for field, part in zip(record.names, parts, strict=True))
        )
        return Typed(colour, _made_record(name, [part.node for part in parts]))

    def _replace(self, node: ast.Call) -> Typed:
        if len(node.args) != 1:
            raise ExpressionInvalid("replace takes one record, then fields by name")
        whole = self.typed(node.args[0])
        # Equal records have one class, so any of their names makes the right value.
        names = [n for n, r in self._scope.records.items() if r == whole.colour]
        if not isinstance(whole.colour, Record) or not names:
            raise ExpressionInvalid(f"replace takes a record, not {whole.colour}")
        given = self._fields(whole.colour, ast.Call(node.func, [], node.keywords))
        nodes = [
            given[field].node
            if field in given
            else ast.Subscript(whole.node, ast.Constant(at), ast.Load())
            for at, field in enumerate(whole.colour.names)
        ]
        return Typed(whole.colour, _made_record(names[0], nodes))

    def _fields(self, record: Record, node: ast.Call) -> dict[str, Typed]:
        if node.args:
            raise ExpressionInvalid("the fields of a record are given by name")
        wanted, given = dict(record.fields), {}
        for keyword in node.keywords:
            name = str(keyword.arg)
            if name not in wanted or name in given:
                raise ExpressionInvalid(f"field {name!r} is unknown or given twice")
            given[name] = require(self.typed(keyword.value), wanted[name], f"field {name}")
        return given

    def _marking(self, word: str, node: ast.Call) -> Typed:
        if self._scope.marking is None:
            raise ExpressionInvalid(f"only monitors can use {word}(…)")
        place = node.args[0] if len(node.args) == 1 else None
        if not isinstance(place, ast.Constant) or not isinstance(place.value, str):
            raise ExpressionInvalid(f"{word} takes the name of a place as a string")
        return Typed(Int(0), self._scope.marking(word, place.value))


def _named(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _made_record(name: str, nodes: list[ast.expr]) -> ast.expr:
    return ast.Call(_named(f"k_{name}"), [ast.Tuple(nodes, ast.Load())], [])


def _sign(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(_named("a"), op, _named("b"))).split()[1]


def _number_of(op: ast.operator, left: Colour, right: Colour) -> Colour:
    if isinstance(op, ast.Div) or not (isinstance(left, Int) and isinstance(right, Int)):
        return Real()
    # Interval arithmetic: [a, b] op [c, d], where None is an end without bound.
    a, b, c, d = left.least, left.most, right.least, right.most
    if isinstance(op, ast.Add):
        return Int(known(add, a, c), known(add, b, d))
    if isinstance(op, ast.Sub):
        return Int(known(sub, a, d), known(sub, b, c))
    if isinstance(op, ast.Mod) and c is not None and d is not None and c > 0:
        return Int(0, d - 1)
    if isinstance(op, ast.Mult) and not (a is None or b is None or c is None or d is None):
        products = (a * c, a * d, b * c, b * d)
        return Int(min(products), max(products))
    return Int()


def _check_comparison(op: ast.cmpop, left: Colour, right: Colour) -> None:
    if isinstance(op, ast.In | ast.NotIn):
        if joined(left, _element_of(right)) is None:
            raise ExpressionInvalid(f"{left} can never be in a {right}")
        return
    join(left, right, "{} and {} can never be equal")
    if isinstance(op, _COMPARISONS) and isinstance(left, Record | Enum | Bool):
        raise ExpressionInvalid(f"{left} has no order")


def _element_of(colour: Colour) -> Colour:
    if isinstance(colour, List):
        return colour.element
    if isinstance(colour, Anything):
        return colour
    raise ExpressionInvalid(f"a list is expected, not {colour}")


def _target(target: ast.expr, colour: Colour, bound: dict[str, Colour]) -> ast.expr:
    """Adds the variables of a target to `bound` and returns the target to compile."""
    if isinstance(target, ast.Name):
        bound[target.id] = colour
        return ast.Name(f"v_{target.id}", ast.Store())
    parts = colour.parts if isinstance(colour, Product) else ()
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(parts):
        raise ExpressionInvalid(f"{ast.unparse(target)} does not match the parts of {colour}")
    pairs = zip(target.elts, parts, strict=True)
    return ast.Tuple([_target(inner, part, bound) for inner, part in pairs], ast.Store())


def colour_of(value: Any) -> Colour:
    """The narrowest colour set that holds a Python value."""
    if isinstance(value, bool):
        return Bool()
    if isinstance(value, int):
        return Int(value, value)
    if isinstance(value, float) and math.isfinite(value):
        return Real()
    if isinstance(value, str):
        return Enum(names=(value,))
    if isinstance(value, list):
        element: Colour = Nothing()
        for item in value:
            element = join(element, colour_of(item), MIXED_LIST)
        return List(element)
    if isinstance(value, tuple):
        return Product(tuple(map(colour_of, value))) if value else Unit()
    raise ExpressionInvalid(f"{value!r} is not a value that tokens can have")
