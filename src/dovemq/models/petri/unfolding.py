"""A coloured net with finite colour sets as the P/T net that behaves alike.

A place becomes one place for each value, a transition one for each binding that its guard allows.
A binding that would put a value outside the colour set of its place, for which the coloured net
fails if it is ever enabled, puts a token into the place `outside` instead: where that stays empty,
both nets behave alike. Owns that translation and its limit. Refuses nets that draw by chance, and
colour sets without end.
"""

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from dovemq.models.petri.bags import Bag
from dovemq.models.petri.checking import CheckedNet, CheckedTransition, checked
from dovemq.models.petri.errors import NetInvalid, NetTooLarge
from dovemq.models.petri.exploring import refuse_random
from dovemq.models.petri.functions import PURE_CALLS
from dovemq.models.petri.inference import Scope, infer
from dovemq.models.petri.nets import Net
from dovemq.models.petri.searching import write_bag, write_definitions
from dovemq.models.petri.writing import FAILURES, Code

BINDINGS_MAX: Final = 200_000
OUTSIDE: Final = "outside"


def unfolded(net: Net | CheckedNet) -> Net:
    net = checked(net) if isinstance(net, Net) else net
    refuse_random(net)
    made = Net(f"{net.name} unfolded")
    page = made.page("Main")
    names = _Names()
    for place in net.places:
        values = place.colour.values()
        if values is None:
            raise NetInvalid(
                net.net.where.at(place=place.name), f"{place.colour} has no end: it cannot unfold"
            )
        for value in values:
            page.place(names.of(place.name, value), initial=place.initial[value])
    for transition in net.transitions:
        for number, (taken, put) in enumerate(_bindings(net, transition)):
            name = f"{_plain(transition.name)}_{number}"
            page.transition(name, priority=transition.priority)
            for inward, amounts in ((True, taken), (False, put)):
                for (place_number, value), count in amounts.items():
                    if place_number is None:
                        if OUTSIDE not in page.places:
                            page.place(OUTSIDE)
                        place_name = OUTSIDE
                    else:
                        place_name = names.of(net.places[place_number].name, value)
                    ends = (place_name, name) if inward else (name, place_name)
                    page.arc(*ends, weight=count)
    return made


Amounts = dict[tuple[int | None, Any], int]
"""(place, or None for `outside`; value) → tokens."""


def _bindings(net: CheckedNet, transition: CheckedTransition) -> Iterator[tuple[Amounts, Amounts]]:
    """What each binding takes and puts."""
    sets = []
    for name in transition.plan.order:
        values = net.net.colours[net.net.variables[name]].values()
        if values is None:
            raise NetInvalid(transition.where, f"the colour set of {name} has no end")
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
    total: Amounts = {}
    for place, value, count in parts:
        held = net.places[place]
        known = held.colour.values() or ()
        key: tuple[int | None, Any] = (place, known[0] if held.counted else value)
        if not held.counted and value not in known:
            key = (None, ())
        total[key] = total.get(key, 0) + count
    return {key: count for key, count in total.items() if count}


def _effect(net: CheckedNet, transition: CheckedTransition) -> Any:
    """A function of the binding: None if the guard forbids it, else what is taken and put."""
    scope = _scope(net)
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
    names = {f"f_{name}": call for name, call in PURE_CALLS.items()}
    run = program.loaded({**names, **net.declared.environment})["effect"]

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


def _scope(net: CheckedNet) -> Scope:
    known = net.declared.scope
    variables = {name: net.net.colours[colour] for name, colour in net.net.variables.items()}
    return Scope(variables, known.constants, known.records, known.functions)


def _plain(text: str) -> str:
    found = re.sub(r"\W+", "_", text).strip("_")
    return found if found[:1].isalpha() else f"v{found}"


class _Names:
    """A name for each place and value, made of their texts, and each only once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Any], str] = {}
        self._taken: set[str] = {OUTSIDE}

    def of(self, place: str, value: Any) -> str:
        key = (place, value)
        if key not in self._known:
            text = "" if value == () else f"_{value!r}"
            name = plain = _plain(place + text)
            number = 1
            while name in self._taken:
                number += 1
                name = f"{plain}_{number}"
            self._taken.add(name)
            self._known[key] = name
        return self._known[key]
