"""Patterns: how an input arc matches one token.

`taken_apart` reads an expression as a pattern. A variable binds; `(a, b)`, `[head, *tail]` and
`Msg(id=i, …)` match the parts of a value; anything else is computed and compared.
`bindings.py` chooses the order in which places are searched.
"""

import ast
from dataclasses import dataclass, field

from dovemq.models.petri.colours import Colour, List, Product, Record
from dovemq.models.petri.inference import Scope


@dataclass(slots=True)
class ArcPattern:
    """The steps that match a token. All code refers to the value of the token as `subject`."""

    shapes: list[str] = field(default_factory=list)
    """Tests of lengths, which must come before anything is bound."""
    binds: dict[str, str] = field(default_factory=dict)
    """Maps each variable to the code of its part of the value."""
    repeats: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of a variable and the code of a further part that must equal it."""
    computed: list[tuple[ast.expr, str]] = field(default_factory=list)
    """Pairs of an expression and the code of the part that must equal its value."""


def taken_apart(tree: ast.expr, colour: Colour, scope: Scope, subject: str) -> ArcPattern:
    pattern = ArcPattern()
    _take(tree, colour, scope, subject, pattern)
    return pattern


def _take(tree: ast.expr, colour: Colour, scope: Scope, at: str, into: ArcPattern) -> None:
    if isinstance(tree, ast.Name) and tree.id in scope.variables:
        if tree.id in into.binds:
            into.repeats.append((tree.id, at))
        else:
            into.binds[tree.id] = at
    elif isinstance(tree, ast.Tuple) and isinstance(colour, Product) and tree.elts:
        for position, (part, inner) in enumerate(zip(tree.elts, colour.parts, strict=True)):
            _take(part, inner, scope, f"{at}[{position}]", into)
    elif isinstance(tree, ast.List) and isinstance(colour, List):
        _take_list(tree, colour, scope, at, into)
    elif isinstance(tree, ast.Call) and isinstance(colour, Record) and _makes_record(tree, scope):
        given = {keyword.arg: keyword.value for keyword in tree.keywords}
        for position, (name, inner) in enumerate(colour.fields):
            _take(given[name], inner, scope, f"{at}[{position}]", into)
    else:
        into.computed.append((tree, at))


def _take_list(tree: ast.List, colour: List, scope: Scope, at: str, into: ArcPattern) -> None:
    stars = [place for place, part in enumerate(tree.elts) if isinstance(part, ast.Starred)]
    if len(stars) > 1:
        into.computed.append((tree, at))
        return
    fixed = len(tree.elts) - len(stars)
    if fixed or not stars:
        into.shapes.append(f"len({at}) {'>=' if stars else '=='} {fixed}")
    for position, part in enumerate(tree.elts):
        behind = len(tree.elts) - position
        if isinstance(part, ast.Starred):
            end = "" if behind == 1 else str(1 - behind)
            _take(part.value, List(colour.element), scope, f"{at}[{position}:{end}]", into)
        else:
            after_star = bool(stars) and position > stars[0]
            index = -behind if after_star else position
            _take(part, colour.element, scope, f"{at}[{index}]", into)


def _makes_record(tree: ast.Call, scope: Scope) -> bool:
    return isinstance(tree.func, ast.Name) and tree.func.id in scope.records
