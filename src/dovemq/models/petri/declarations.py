"""The declarations of a net, checked: constants, records and functions for expressions.

In compiled code, names of constants start with `c_`, makers of records with `k_` and functions
with `f_`. A function can call only functions declared before it, so every call ends.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dovemq.models.petri.colours import Anything, Colour, Record
from dovemq.models.petri.errors import NetInvalid, locating
from dovemq.models.petri.expressions import parse
from dovemq.models.petri.functions import FUNCTIONS, PURE_CALLS, Function, takes
from dovemq.models.petri.inference import Scope, Typed, colour_of, infer
from dovemq.models.petri.nets import Defined, Foreign, Net


@dataclass(frozen=True, slots=True)
class Definition:
    """A checked function of the net."""

    name: str
    parameters: tuple[str, ...]
    body: Typed


@dataclass(frozen=True, slots=True)
class Declared:
    scope: Scope
    environment: Mapping[str, Any]
    definitions: tuple[Definition, ...]


def declared(net: Net) -> Declared:
    records = {name: c for name, c in net.colours.items() if isinstance(c, Record)}
    environment: dict[str, Any] = {f"f_{name}": call for name, call in PURE_CALLS.items()}
    for name, record in records.items():
        environment[f"k_{name}"] = functools.partial(tuple.__new__, record.maker)
    constants = {}
    for name, value in net.constants.items():
        with locating(net.where.at(part=f"constant {name}")):
            constants[name] = colour_of(value)
        environment[f"c_{name}"] = runtime_value(value)
    scope = Scope({}, constants, records, dict(FUNCTIONS))
    definitions = []
    for name, function in net.functions.items():
        if isinstance(function, Foreign):
            environment[f"f_{name}"] = function.call
            made = _foreign(net, name, function)
        else:
            made, definition = _defined(net, name, function, scope)
            definitions.append(definition)
        scope = replace(scope, functions={**scope.functions, name: made})
    return Declared(scope, environment, tuple(definitions))


def runtime_value(value: Any) -> Any:
    """Converts lists to tuples at every level."""
    if isinstance(value, list):
        return tuple(map(runtime_value, value))
    return value


def _foreign(net: Net, name: str, function: Foreign) -> Function:
    colour: Colour = Anything()
    if function.returns is not None:
        if function.returns not in net.colours:
            raise NetInvalid(net.where, f"function {name}: unknown colour {function.returns!r}")
        colour = net.colours[function.returns]
    return Function(lambda _name, _found: colour, function.chance)


def _defined(net: Net, name: str, function: Defined, scope: Scope) -> tuple[Function, Definition]:
    where = net.where.at(part=f"function {name}")
    unknown = [colour for _, colour in function.parameters if colour not in net.colours]
    if unknown:
        raise NetInvalid(where, f"unknown colour {unknown[0]!r}")
    parameters = {parameter: net.colours[colour] for parameter, colour in function.parameters}
    with locating(where):
        body = infer(parse(function.body), replace(scope, variables=parameters, chance=True))
    result = takes(*parameters.values(), gives=body.colour)
    draws = any(other.chance for each, other in scope.functions.items() if each in body.calls)
    return Function(result, draws), Definition(name, tuple(parameters), body)
