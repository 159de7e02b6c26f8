"""Unfolding: a coloured net with finite colour sets becomes the P/T net with the same behaviour.

A place becomes one place for each value, a transition one for each binding that its guard allows.
If a binding would put a value outside the colour set of a place, the coloured net fails. The P/T
net puts a token into the place `outside` instead; while that is empty, both nets behave alike.
Inhibitor arcs and capacities become inhibitor arcs. If they limit the sum of the tokens of a place
of several values, no arc of a P/T net says the same, and the net is refused.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from dovemq.models.petri.bags import Bag
from dovemq.models.petri.checking import CheckedNet, CheckedTransition, checked
from dovemq.models.petri.errors import NetInvalid, NetTooLarge
from dovemq.models.petri.exploring import refuse_random
from dovemq.models.petri.inference import infer
from dovemq.models.petri.multisets import totals
from dovemq.models.petri.nets import Net, Page, free_name
from dovemq.models.petri.searching import write_bag, write_definitions
from dovemq.models.petri.writing import FAILURES, Code

BINDINGS_MAX: Final = 200_000
OUTSIDE: Final = "outside"


def unfolded(net: Net | CheckedNet) -> Net:
    net = checked(net)
    refuse_random(net)
    made = Net(f"{net.name} unfolded")
    page = made.page("Main")
    names: dict[tuple[int | None, Any], str] = {(None, ()): OUTSIDE}
    used = {OUTSIDE}
    for place in net.places:
        values = place.colour.values()
        if values is None:
            where = net.net.where.at(place=place.name)
            raise NetInvalid(where, f"{place.colour} is not finite")
        for value in values:
            name = free_name(place.name if value == () else f"{place.name}_{value!r}", used)
            used.add(name)
            names[place.number, value] = name
            page.place(name, initial=place.initial[value])
    for transition in net.transitions:
        if any(each.most < 0 for each in transition.ceilings):
            continue
        for number, (taken, put) in enumerate(_bindings(net, transition)):
            name = free_name(f"{transition.name}_{number}", page.transitions)
            page.transition(name, priority=transition.priority)
            _limit(net, transition, page, name, names)
            if (None, ()) in put and OUTSIDE not in page:
                page.place(OUTSIDE)
            for key, count in taken.items():
                page.arc(names[key], name, weight=count)
            for key, count in put.items():
                page.arc(name, names[key], weight=count)
    return made


def _limit(
    net: CheckedNet,
    transition: CheckedTransition,
    page: Page,
    name: str,
    names: dict[tuple[int | None, Any], str],
) -> None:
    """Adds the inhibitor and reset arcs of one transition of the P/T net."""
    for ceiling in transition.ceilings:
        values = net.places[ceiling.place].colour.values() or ()
        if len(values) > 1 and ceiling.most:
            place = net.places[ceiling.place].name
            raise NetInvalid(
                transition.where,
                f"no P/T net can limit the sum of the tokens of {place}, which has several values",
            )
        for value in values:
            page.inhibitor(names[ceiling.place, value], name, ceiling.most + 1)
    for reset in transition.resets:
        for value in net.places[reset].colour.values() or ():
            page.reset(names[reset, value], name)


Amounts = dict[tuple[int | None, Any], int]
"""Maps (place, value) to a number of tokens; the place is None for `outside`."""


def _bindings(net: CheckedNet, transition: CheckedTransition) -> Iterator[tuple[Amounts, Amounts]]:
    """Yields the tokens that each binding takes and puts."""
    sets = []
    for name in transition.plan.order:
        values = net.net.colours[net.net.variables[name]].values()
        if values is None:
            raise NetInvalid(transition.where, f"the colour set of {name} is not finite")
        sets.append(values)
    if math.prod(map(len, sets)) > BINDINGS_MAX:
        raise NetTooLarge(transition.where, f"more than {BINDINGS_MAX} bindings to unfold")
    effect = _effect(net, transition)
    for binding in itertools.product(*sets):
        found = effect(*binding)
        if found is None:
            continue
        taken, put = _amounts(net, found[0]), _amounts(net, found[1])
        if (None, ()) not in taken:
            yield taken, put


def _amounts(net: CheckedNet, parts: list[tuple[int, Any, int]]) -> Amounts:
    def key(place: int, value: Any) -> tuple[int | None, Any]:
        if net.places[place].counted:
            return (place, net.places[place].only_value)
        return (place, value) if value in (net.places[place].colour.values() or ()) else (None, ())

    found = totals((key(place, value), count) for place, value, count in parts)
    return {key: count for key, count in found.items() if count}


def _effect(net: CheckedNet, transition: CheckedTransition) -> Any:
    """Returns a function of the binding: None if the guard is false, else tokens taken and put."""
    scope = replace(net.declared.scope, variables=net.net.variable_colours)
    code = Code(net.name)
    write_definitions(code, net)
    parameters = ", ".join(f"v_{name}" for name in transition.plan.order)
    with code.at(transition.where), code.block(f"def effect({parameters}):"):
        for guard in transition.guards:
            code.line(f"if not {infer(guard, scope).code}: return None")
        for name, typed in transition.code:
            code.line(f"v_{name} = {typed.code}")
        code.lines("taken = []", "put = []")
        for take in transition.takes:
            code.line(f"taken.append(({take.place}, {take.value.code}, {take.count}))")
        for part in transition.plan.computed_takes:
            _write_amounts(code, part.bag, part.place, "taken")
        for put in transition.puts:
            _write_amounts(code, put.bag, put.place, "put")
        code.line("return taken, put")
    program = code.compiled()
    run = program.loaded(dict(net.declared.environment))["effect"]

    def effect(*binding: Any) -> Any:
        try:
            return run(*binding)
        except FAILURES as error:
            raise program.failed(error) from error

    return effect


def _write_amounts(code: Code, bag: Bag, place: int, into: str) -> None:
    code.line("parts = []")
    write_bag(code, bag, "parts")
    code.line(f"{into} += [({place}, each, count) for each, count in parts]")
