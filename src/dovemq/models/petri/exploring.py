"""Writes the code that explores a state space breadth first: one function for a net.

A marking is a tuple with one number for each place: the number of tokens if they have one value,
else the number of the place's own multiset, each of which is stored once:

    places      Idle   Requests          Clients
    tokens      2      (a, 1) + (b, 1)   empty
    marking     (2,    7,                0)              kinds_1[7] = {(a, 1): 1, (b, 1): 1}
    key         2 + (7 << 24) + (0 << 64)                one integer

A firing adds a constant to the key, so finding out whether a marking is new costs one addition and
one look-up. A transition depends only on the places that it touches. Its bindings are therefore
computed once for each combination of their numbers and remembered in `memo_t`.
"""

from collections.abc import Sequence
from typing import Final

from dovemq.models.petri.bags import Bag, Conditional, Each, Some
from dovemq.models.petri.bindings import Enough, Scan
from dovemq.models.petri.checking import CheckedNet, CheckedTransition, Put
from dovemq.models.petri.errors import NetInvalid
from dovemq.models.petri.firing import levels_of
from dovemq.models.petri.inference import Typed
from dovemq.models.petri.multisets import totals
from dovemq.models.petri.searching import (
    binding_text,
    taken_values,
    write_bag,
    write_definitions,
    write_search,
)
from dovemq.models.petri.writing import Code

COUNT_BITS: Final = 24
"""Bits of the key for a place of one value; they limit the number of its tokens."""
MEMO_MAX: Final = 50_000
"""Combinations of numbers for which the bindings of a transition are remembered."""
CHANGES_MAX: Final = 1_000_000
"""Changes of a place that are remembered."""
KIND_BITS: Final = 40
"""Bits of the key for a place of many values; they limit the number of its multisets."""


def refuse_random(net: CheckedNet) -> None:
    """Refuses random functions and the clock, which a state space cannot follow."""
    functions = net.declared.scope.functions
    drawing = {name for name, function in functions.items() if function.chance}
    for transition in net.transitions:
        parts = [typed for _, typed in transition.code]
        parts += [typed for put in transition.puts for typed in _parts(put.bag)]
        for name in sorted(drawing & {name for typed in parts for name in typed.calls}):
            raise NetInvalid(
                transition.where,
                f"{name} is random, which a state space cannot follow; use a variable of a "
                "small colour set that no arc binds, which takes every value",
            )
        if transition.reads_time or any(typed.reads_time for typed in parts):
            raise NetInvalid(transition.where, "a state space has no time, so now cannot be used")


def _parts(bag: Bag) -> list[Typed]:
    found: list[Typed] = []
    for part in bag:
        if isinstance(part, Conditional):
            found += [part.test, *_parts(part.then), *_parts(part.other)]
        elif isinstance(part, Each):
            found.append(part.items)
        else:
            found += [part.value, part.count]
    return found


def shifts(net: CheckedNet) -> list[int]:
    """The first bit of each place within a key."""
    found, at = [], 0
    for place in net.places:
        found.append(at)
        at += COUNT_BITS if place.counted else KIND_BITS
    return found


def constant_effect(transition: CheckedTransition, net: CheckedNet) -> dict[int, int] | None:
    """The change of each place, if it is constant and depends on counts alone."""
    amounts = None if transition.resets else constant_amounts(transition, net)
    if amounts is None:
        return None
    return {place: amount for place, amount in totals(amounts).items() if amount}


def constant_amounts(
    transition: CheckedTransition, net: CheckedNet
) -> list[tuple[int, int]] | None:
    """The tokens that each arc puts (above 0) or takes (below 0), if they are constant counts."""
    simple = all(isinstance(step, Enough) for step in transition.plan.steps)
    if not simple or transition.plan.computed_takes or transition.code:
        return None
    amounts: list[tuple[int, int]] = []
    for put in transition.puts:
        for part in put.bag:
            if isinstance(part, Conditional | Each) or not net.places[put.place].counted:
                return None
            if not part.count.code.isdecimal():
                return None
            amounts.append((put.place, int(part.count.code)))
    return [*amounts, *((take.place, -take.count) for take in transition.takes)]


class _LocalView:
    """Reads dictionaries of value → count, one for each place that a transition touches."""

    def __init__(self, net: CheckedNet) -> None:
        self._net = net

    def at_most(self, place: int, count: int) -> str:
        held = f"p{place}" if self._net.places[place].counted else f"size_of(b{place})"
        return f"{held} <= {count}"

    def enough(self, place: int, count: int) -> str:
        return f"p{place} >= {count}"

    def scan(self, code: Code, step: Scan) -> None:
        place = step.take.place
        if step.take.count == 1:
            code.open(f"for {step.subject} in b{place}:")
        else:
            code.open(f"for {step.subject}, n{step.subject} in b{place}.items():")
            code.open(f"if n{step.subject} >= {step.take.count}:")

    def holds(self, place: int, wanted: str) -> str:
        return f"holds(b{place}, p{place}, {wanted})"

    def has(self, place: int, value: str, count: int) -> str:
        return f"b{place}.get({value}, 0) >= {count}"

    def draw(self, code: Code, variable: str, values: str) -> None:
        code.open(f"for v_{variable} in {values}:")


class ExplorerWriter:
    """Writes `explore(states, index, targets, labels, offsets, states_max, rest)`."""

    def __init__(self, net: CheckedNet) -> None:
        self.code = Code(net.name)
        self._net = net
        self._view = _LocalView(net)
        self._shifts = shifts(net)

    def write(self) -> None:
        write_definitions(self.code, self._net)
        for transition in self._net.transitions:
            if constant_effect(transition, self._net) is None:
                self._expansion(transition)
        self._explore()

    def _expansion(self, transition: CheckedTransition) -> None:
        """Writes `expand_3(p0, p4)`: all bindings of transition 3 for these place numbers."""
        code, places = self.code, transition.touched
        numbers = ", ".join(f"p{place}" for place in places)
        with code.at(transition.where), code.block(f"def expand_{transition.number}({numbers}):"):
            code.line("found = []")
            for place in places:
                kinds = "None" if self._net.places[place].counted else f"kinds_{place}[p{place}]"
                code.line(f"b{place} = {kinds}")
            with code.restored():
                write_search(code, transition, self._view)
                self._effect(transition, places)
            memo = f"memo_{transition.number}"
            code.line(f"if len({memo}) < {MEMO_MAX}: {memo}[({numbers},)] = found")
            code.line("return found")

    def _effect(self, transition: CheckedTransition, places: Sequence[int]) -> None:
        """Writes the changes that one binding makes, each computed once and remembered."""
        code, number = self.code, transition.number
        for name, typed in transition.code:
            code.line(f"v_{name} = {typed.code}")
        taken: dict[int, list[str]] = {place: [] for place in places}
        for step in transition.plan.steps:
            if isinstance(step, Enough):
                taken[step.place].append(f"((), {step.count})")
        for take, subject in taken_values(transition):
            taken[take.place].append(f"({subject}, {take.count})")
        for at, part in enumerate(transition.plan.computed_takes):
            taken[part.place].append(f"*r{at}")
        for place in transition.resets:
            # The firing takes whatever is there.
            counted = self._net.places[place].counted
            taken[place] = [f"((), p{place})"] if counted else [f"*b{place}.items()"]
        for place in places:
            puts = [put for put in transition.puts if put.place == place]
            code.line(f"gone = ({', '.join(taken[place])}{',' if taken[place] else ''})")
            self._come(transition, puts)
            code.line(f"key = (p{place}, gone, come)")
            # Many bindings make the same change: taking a and putting b in this multiset.
            code.line(f"c{place} = changes_{place}.get(key)")
            with code.block(f"if c{place} is None:"):
                code.line(f"c{place} = change_{place}(key)")
        values = "".join(f"v_{name}, " for name in transition.variables)
        code.line(f"name = labels_{number}.get(({values}))")
        with code.block("if name is None:"):
            code.line(f"name = label({number}, ({values}), {binding_text(transition)})")
        delta = " + ".join(f"c{place}[1]" for place in places) or "0"
        news = "".join(f"c{place}[0], " for place in places)
        code.line(f"found.append((name, {delta}, ({news})))")

    def _come(self, transition: CheckedTransition, puts: Sequence[Put]) -> None:
        """Writes `come`, the (value, count) pairs that a place receives."""
        parts = [part for put in puts for part in put.bag]
        if all(isinstance(part, Some) for part in parts):
            texts = [f"({p.value.code}, {p.count.code})" for p in parts if isinstance(p, Some)]
            with self.code.at(transition.where.at(arc=puts[0].arc if puts else "")):
                self.code.line(f"come = ({', '.join(texts)}{',' if texts else ''})")
            return
        self.code.line("into = []")
        for put in puts:
            with self.code.at(transition.where.at(arc=put.arc)):
                write_bag(self.code, put.bag, "into")
        self.code.line("come = tuple(into)")

    def _explore(self) -> None:
        """Writes the main loop. It unpacks each marking once and appends its edges in order."""
        code, count = self.code, len(self._net.places)
        with code.block("def explore(states, index, targets, labels, offsets, states_max, rest):"):
            code.line(
                "at, put, go, mark = len(offsets) - 1, states.append, targets.append, labels.append"
            )
            with code.block("while at < len(states) and len(states) < states_max and rest:"):
                code.lines("rest -= 1", "key, state = states[at]")
                names = ", ".join(f"p{place}" for place in range(count))
                code.line(f"{names}{',' if count == 1 else ''} = state")
                code.line("start = len(targets)")
                self._levels()
                code.lines("offsets.append(len(targets))", "at += 1")
            code.line("return at")

    def _levels(self) -> None:
        """Writes all transitions; less urgent ones run only if no more urgent one is enabled."""
        with self.code.restored():
            for level in levels_of(self._net):
                for transition in self._net.transitions:
                    if transition.priority == level:
                        self._transition(transition)
                if level != levels_of(self._net)[-1]:
                    self.code.open("if len(targets) == start:")

    def _transition(self, transition: CheckedTransition) -> None:
        change = constant_effect(transition, self._net)
        if change is None:
            self._remembered(transition)
            return
        code = self.code
        tests = [
            f"p{step.place} >= {step.count}" if step.count > 1 else f"p{step.place}"
            for step in transition.plan.steps
            if isinstance(step, Enough)
        ]
        tests += [f"p{each.place} <= {each.most}" for each in transition.ceilings]
        delta = sum(amount << self._shifts[place] for place, amount in change.items())
        with code.block(f"if {' and '.join(tests) or '1'}:"):
            code.line(f"other = key + {delta}")
            moved = {place: f"p{place} + {amount}" for place, amount in change.items()}
            self._arrive(moved, grown=[place for place, amount in change.items() if amount > 0])
            code.line(f"mark({transition.number})")

    def _remembered(self, transition: CheckedTransition) -> None:
        code, places = self.code, transition.touched
        numbers = ", ".join(f"p{place}" for place in places)
        code.line(f"found = memo_{transition.number}.get(({numbers},))")
        with code.block("if found is None:"):
            code.line(f"found = expand_{transition.number}({numbers})")
        news = ", ".join(f"n{place}" for place in places)
        with code.block(f"for name, delta, ({news},) in found:"):
            code.line("other = key + delta")
            self._arrive({place: f"n{place}" for place in places}, grown=[])
            code.line("mark(name)")

    def _arrive(self, moved: dict[int, str], grown: Sequence[int]) -> None:
        code = self.code
        code.line("to = index.get(other)")
        with code.block("if to is None:"):
            # A place without bound must not overflow into the bits of the next place.
            for place in grown:
                code.line(f"if {moved[place]} > tokens_max: overflow({place})")
            code.line("to = index[other] = len(states)")
            parts = [moved.get(place, f"p{place}") for place in range(len(self._net.places))]
            code.line(f"put((other, ({', '.join(parts)},)))")
        code.line("go(to)")
