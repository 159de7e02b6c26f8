"""Checking: a net becomes flat, its expressions typed and its searches planned.

Every net passes through `checked` before it runs, is explored or is drawn. `checked` reports
unknown colours and names, arcs that do not fit their places and variables that nothing binds.
It evaluates initial markings and nothing else.
"""

import ast
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dovemq.models.petri.bags import Bag, Conditional, Each, Some, bag_of
from dovemq.models.petri.bindings import ComputedTake, SearchPlan, Take, planned
from dovemq.models.petri.ceilings import Ceiling, ceilings_of, size_of
from dovemq.models.petri.colours import Bool, Colour, Int, Real, one_value
from dovemq.models.petri.declarations import Declared, declared, runtime_value
from dovemq.models.petri.errors import ExpressionInvalid, NetInvalid, Where, locating
from dovemq.models.petri.expressions import conjuncts, names_in, parse
from dovemq.models.petri.hierarchy import Flat, FlatTransition, flattened
from dovemq.models.petri.inference import Scope, Typed, infer, require
from dovemq.models.petri.multisets import Multiset, totals
from dovemq.models.petri.nets import Arc, Net

TOKENS_INITIAL_MAX: Final = 1_000_000
"""The most initial tokens of a place that holds its tokens one by one."""


@dataclass(frozen=True, slots=True)
class CheckedPlace:
    """A place of the flat net; `members` are its names on the pages."""

    number: int
    name: str
    colour: Colour
    initial: Multiset
    at: float
    members: tuple[str, ...]
    capacity: int | None = None

    @property
    def counted(self) -> bool:
        """Whether its tokens have only one value."""
        return one_value(self.colour)

    @property
    def only_value(self) -> Any:
        """The value of all tokens of a place whose tokens are counted."""
        (value,) = self.colour.values() or ((),)
        return value


@dataclass(frozen=True, slots=True)
class Put:
    """The tokens that an output arc adds. Without `delay` they can be taken at once."""

    place: int
    bag: Bag
    delay: Typed | None
    arc: str


@dataclass(frozen=True, slots=True)
class CheckedTransition:
    number: int
    name: str
    where: Where
    priority: int
    plan: SearchPlan
    takes: tuple[Take, ...]
    puts: tuple[Put, ...]
    code: tuple[tuple[str, Typed], ...]
    delay: Typed | None
    guards: tuple[ast.expr, ...]
    reads_time: bool
    """Whether its guard reads the clock."""
    inhibitors: tuple[tuple[int, int], ...] = ()
    """Places with the weights of their inhibitor arcs."""
    resets: tuple[int, ...] = ()
    """Places that a firing empties before it puts tokens."""
    ceilings: tuple[Ceiling, ...] = ()
    """The most tokens that inhibitor arcs and capacities allow in each place."""

    @property
    def inputs(self) -> frozenset[int]:
        """The places from which it takes tokens."""
        taken = {take.place for take in self.takes}
        return frozenset(taken | {take.place for take in self.plan.computed_takes})

    @property
    def touched(self) -> list[int]:
        """The places that it changes or whose tokens decide whether it is enabled."""
        others = {put.place for put in self.puts} | {each.place for each in self.ceilings}
        return sorted(self.inputs | others | set(self.resets))

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.plan.order, *(name for name, _ in self.code))


@dataclass(frozen=True, slots=True)
class CheckedNet:
    net: Net
    declared: Declared
    places: tuple[CheckedPlace, ...]
    transitions: tuple[CheckedTransition, ...]
    number_of: Mapping[str, int]

    @property
    def name(self) -> str:
        return self.net.name

    def place(self, name: str) -> CheckedPlace:
        """Returns a place by its full name on any page."""
        if name not in self.number_of:
            raise NetInvalid(self.net.where, f"no place is named {name!r}")
        return self.places[self.number_of[name]]

    def transition(self, name: str) -> CheckedTransition:
        for transition in self.transitions:
            if transition.name == name:
                return transition
        raise NetInvalid(self.net.where, f"no transition is named {name!r}")

    @property
    def is_pt(self) -> bool:
        """Whether every place holds tokens of one value: a place/transition net."""
        return all(place.counted for place in self.places)


def checked(net: Net | CheckedNet) -> CheckedNet:
    if isinstance(net, CheckedNet):
        return net
    known = declared(net)
    flat = flattened(net)
    places = tuple(_place(net, known, flat, number) for number in range(len(flat.places)))
    check = _TransitionCheck(net, known, places)
    transitions = tuple(
        check.transition(number, step) for number, step in enumerate(flat.transitions)
    )
    _check_ports(net)
    return CheckedNet(net, known, places, transitions, flat.number_of)


def _place(net: Net, known: Declared, flat: Flat, number: int) -> CheckedPlace:
    spot = flat.places[number]
    where = net.where.at(page=spot.page, place=spot.name)
    colour = net.colours.get(spot.place.colour)
    if colour is None:
        raise NetInvalid(where, f"unknown colour {spot.place.colour!r}")
    with locating(where.at(part="initial marking")):
        bag = bag_of(parse(spot.place.initial), colour, known.scope)
        initial = _tokens(bag, known, colour)
    if not 0 <= spot.place.at < math.inf:
        raise NetInvalid(where, f"its tokens need a finite time of at least 0, not {spot.place.at}")
    if spot.capacity is not None and initial.size > spot.capacity:
        raise NetInvalid(where, f"its {initial.size} tokens exceed its capacity of {spot.capacity}")
    return CheckedPlace(
        number, spot.name, colour, initial, spot.place.at, spot.members, spot.capacity
    )


def _tokens(bag: Bag, known: Declared, colour: Colour) -> Multiset:
    counts = totals(_amounts(bag, known, colour))
    if min(counts.values(), default=0) < 0:
        raise ExpressionInvalid("a negative count of tokens")
    one_by_one = colour.timed or not one_value(colour)
    if one_by_one and sum(counts.values()) > TOKENS_INITIAL_MAX:
        raise ExpressionInvalid(f"more than {TOKENS_INITIAL_MAX} tokens")
    return Multiset(counts)


def _amounts(bag: Bag, known: Declared, colour: Colour) -> Iterator[tuple[Any, int]]:
    for part in bag:
        if isinstance(part, Conditional):
            chosen = part.then if _evaluated(part.test, known) else part.other
            yield from _amounts(chosen, known, colour)
            continue
        if isinstance(part, Each):
            count, values = 1, _evaluated(part.items, known)
        else:
            count, values = _evaluated(part.count, known), (_evaluated(part.value, known),)
        for value in values:
            if not colour.admits(value):
                raise ExpressionInvalid(f"the place holds {colour}, not {value!r}")
            yield value, count


def _evaluated(typed: Typed, known: Declared) -> Any:
    """Evaluates a checked expression over constants."""
    tree = ast.fix_missing_locations(ast.Expression(typed.node))
    code = compile(tree, "<initial marking>", "eval")
    try:
        return runtime_value(eval(code, {"__builtins__": {"tuple": tuple}, **known.environment}))
    except (ArithmeticError, LookupError, TypeError, ValueError, NameError) as error:
        raise ExpressionInvalid(f"cannot be computed: {error}") from error


def _check_ports(net: Net) -> None:
    for page in net.pages.values():
        for arc in page.arcs:
            port = page.places[arc.place].port
            if arc.kind != "normal":
                continue
            if (port == "in" and not arc.inward) or (port == "out" and arc.inward):
                where = page.where.at(transition=arc.transition, arc=str(arc))
                raise NetInvalid(where, f"{arc.place} is an {port} port: this arc is reversed")


class _TransitionCheck:
    def __init__(self, net: Net, known: Declared, places: tuple[CheckedPlace, ...]) -> None:
        self._net = net
        self._places = places
        self._capacities = {
            place.number: place.capacity for place in places if place.capacity is not None
        }
        self._clock: Colour = net.time or Real()
        self._scope = replace(known.scope, variables=net.variable_colours, clock=self._clock)

    def transition(self, number: int, whole: FlatTransition) -> CheckedTransition:
        made = whole.transition
        step = replace(whole, arcs=tuple(pair for pair in whole.arcs if pair[0].kind == "normal"))
        where = step.page.where.at(transition=step.name)
        scope = self._scope
        computed = set(made.code)
        searched = self._without(scope, computed)
        guards = self._guards(where, made.guard, searched)
        takes, computed_takes = self._inputs(step, where, searched)
        code, full = self._code(where, made.code, scope, computed)
        delay = self._delay(where.at(part="delay"), made.delay, full)
        puts = tuple(
            self._put(where.at(arc=str(arc)), arc, place, full)
            for arc, place in step.arcs
            if not arc.inward
        )
        needed = self._needed(step, computed, scope)
        with locating(where):
            plan = planned(takes, computed_takes, guards, needed, searched)
        reads_time = any("now" in names_in(guard) for guard in guards)
        found = CheckedTransition(
            number, step.name, where, made.priority, plan, tuple(takes), puts, code, delay,
            tuple(guards), reads_time,
        )  # fmt: skip
        return self._with_ceilings(found, whole)

    def _with_ceilings(self, found: CheckedTransition, whole: FlatTransition) -> CheckedTransition:
        inhibitors = tuple(
            (place, int(arc.expression)) for arc, place in whole.arcs if arc.kind == "inhibitor"
        )
        resets = tuple(sorted({place for arc, place in whole.arcs if arc.kind == "reset"}))
        taken: list[tuple[int, int | None]] = [(each.place, each.count) for each in found.takes]
        taken += [(each.place, size_of(each.bag)) for each in found.plan.computed_takes]
        put = [(each.place, size_of(each.bag)) for each in found.puts]
        with locating(found.where.at(part="capacity")):
            ceilings = ceilings_of(inhibitors, self._capacities, taken, put, resets)
        return replace(found, inhibitors=inhibitors, resets=resets, ceilings=ceilings)

    @staticmethod
    def _without(scope: Scope, names: set[str]) -> Scope:
        left = {name: colour for name, colour in scope.variables.items() if name not in names}
        return replace(scope, variables=left)

    def _guards(self, where: Where, text: str, scope: Scope) -> list[ast.expr]:
        with locating(where.at(part="guard")):
            tree = parse(text)
            require(infer(tree, scope), Bool(), "a guard")
            always = isinstance(tree, ast.Constant) and tree.value is True
            return [] if always else conjuncts(tree)

    def _inputs(
        self, step: FlatTransition, where: Where, scope: Scope
    ) -> tuple[list[Take], list[ComputedTake]]:
        takes: list[Take] = []
        computed_takes: list[ComputedTake] = []
        for arc, place in step.arcs:
            if not arc.inward:
                continue
            spot = where.at(arc=str(arc))
            if arc.delay != "0":
                raise NetInvalid(spot, "an arc into a transition has no delay")
            with locating(spot):
                colour = self._places[place].colour
                tree = parse(arc.expression)
                bag = bag_of(tree, colour, scope)
                plain = _plain_takes(bag, place, colour, str(arc))
                if plain is None:
                    names = frozenset(names_in(tree) & set(scope.variables))
                    computed_takes.append(ComputedTake(place, bag, names, str(arc)))
                else:
                    takes += plain
        return takes, computed_takes

    def _code(
        self, where: Where, parts: Mapping[str, str], scope: Scope, computed: set[str]
    ) -> tuple[tuple[tuple[str, Typed], ...], Scope]:
        spot = where.at(part="code segment")
        made = []
        known = replace(self._without(scope, computed), chance=True)
        for name, text in parts.items():
            if name not in scope.variables:
                raise NetInvalid(spot, f"{name!r} is not a variable")
            with locating(spot.at(part=f"code segment, {name}")):
                typed = infer(parse(text), known)
                made.append((name, require(typed, scope.variables[name], name)))
            known = known.knowing(**{name: scope.variables[name]})
        return tuple(made), known

    def _delay(self, where: Where, text: str, scope: Scope) -> Typed | None:
        with locating(where):
            typed = require(infer(parse(text), scope), self._clock, "a delay")
            if typed.colour == Int(0, 0):
                return None
            most = typed.colour.most if isinstance(typed.colour, Int) else None
            if most is not None and most < 0:
                raise ExpressionInvalid("a delay must be at least 0")
            return typed

    def _put(self, where: Where, arc: Arc, place: int, scope: Scope) -> Put:
        colour = self._places[place].colour
        with locating(where):
            bag = bag_of(parse(arc.expression), colour, scope)
        delay = self._delay(where.at(part="delay of the arc"), arc.delay, scope)
        if delay is not None and not colour.timed:
            raise NetInvalid(where, "the place is not timed, so its tokens have no delay")
        return Put(place, bag, delay, str(arc))

    @staticmethod
    def _needed(step: FlatTransition, computed: set[str], scope: Scope) -> set[str]:
        texts = [step.transition.delay, *step.transition.code.values()]
        texts += [text for arc, _ in step.arcs for text in (arc.expression, arc.delay)]
        names = {name for text in texts for name in names_in(parse(text))}
        return names & set(scope.variables) - computed


def _plain_takes(bag: Bag, place: int, colour: Colour, arc: str) -> list[Take] | None:
    """The parts of a multiset if all counts are constants, else None."""
    takes = []
    for part in bag:
        if not isinstance(part, Some) or not isinstance(part.count.colour, Int):
            return None
        count = part.count.colour.least
        if count is None or count != part.count.colour.most:
            return None
        if count:
            takes.append(Take(place, colour, count, part.tree, part.value, arc))
    return takes
