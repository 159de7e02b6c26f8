"""Writes the code that explores a state space breadth first: one function for a net.

A marking is a number for each place: the number of tokens if they have one value, else the number
of the place's own multiset, each of which is stored once. `packing.py` stores the numbers as bytes.
A firing adds a constant to them, so finding out whether a marking is new costs one addition and one
look-up. Tests of transitions that need the same places are nested, so that a place without tokens
rules out all of them at once:

    if p4:
        if p7: fire(12)
        if p9 >= 2: fire(13)

A transition depends only on the places that it touches. If it reads values, its bindings are
computed once for each combination of their numbers and remembered in `memo_t`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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

NESTING_MAX: Final = 12
"""Tests of a transition that are nested; further ones are joined."""
MEMO_MAX: Final = 50_000
"""Combinations of numbers for which the bindings of a transition are remembered."""
CHANGES_MAX: Final = 1_000_000
"""Changes of a place that are remembered."""


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
    """Writes `explore(states, index, targets, labels, offsets, states_max, rest)`.

    `as_bytes` says that markings are stored as bytes, otherwise as integers.
    """

    def __init__(self, net: CheckedNet, as_bytes: bool) -> None:
        self.code = Code(net.name)
        self._net = net
        self._view = _LocalView(net)
        self._as_bytes = as_bytes
        self._effects = [constant_effect(each, net) for each in net.transitions]

    def write(self) -> None:
        write_definitions(self.code, self._net)
        for transition in self._net.transitions:
            if self._effects[transition.number] is None:
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
        delta = " + ".join(f"c{place}" for place in places) or "0"
        code.line(f"found.append((name, {delta}))")

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
            code.line("at, put, go, mark = len(offsets) - 1, states.append, targets.append, labels")
            code.line("look = index.get")
            with code.block("while at < len(states) and len(states) < states_max and rest:"):
                code.line("rest -= 1")
                if self._as_bytes:
                    code.lines("stored = states[at]", "key = from_bytes(stored, 'little')")
                else:
                    code.lines("key = states[at]", "stored = key.to_bytes(size, 'little')")
                code.line("numbers = unpack(stored)")
                names = ", ".join(f"p{place}" for place in range(count))
                code.line(f"{names}{',' if count == 1 else ''} = numbers")
                code.line("start = len(targets)")
                self._levels()
                code.lines("offsets.append(len(targets))", "at += 1")
            code.line("return at")

    def _levels(self) -> None:
        """Writes all transitions; less urgent ones run only if no more urgent one is enabled."""
        with self.code.restored():
            levels = levels_of(self._net)
            for level in levels:
                own = [each for each in self._net.transitions if each.priority == level]
                self._counted([each for each in own if self._effects[each.number] is not None])
                for transition in own:
                    if self._effects[transition.number] is None:
                        self._remembered(transition)
                if level != levels[-1]:
                    self.code.open("if len(targets) == start:")

    def _counted(self, transitions: Sequence[CheckedTransition]) -> None:
        """Writes the transitions whose effects are constant."""
        if not transitions:
            return
        code = self.code
        code.lines("found = []", "fire = found.append")
        self._write_tests(_test_tree({each.number: _tests(each) for each in transitions}))
        with code.block("for each in found:"):
            code.line(f"other = {self._moved('deltas[each]')}")
            code.line("to = look(other)")
            with code.block("if to is None:"):
                # A field that is full must not be stored.
                with code.block("for place, amount in gains[each]:"):
                    code.line("if numbers[place] + amount > most[place]: full(place)")
                code.line("to = index[other] = len(states)")
                code.line("put(other)")
            code.line("go(to)")
        code.line("mark.extend(found)")

    def _write_tests(self, tree: "_TestTree") -> None:
        for number in tree.fires:
            self.code.line(f"fire({number})")
        for test, below in tree.below.items():
            tests = [test]
            while not below.fires and len(below.below) == 1:
                ((another, below),) = below.below.items()
                tests.append(another)
            with self.code.block(f"if {' and '.join(tests)}:"):
                self._write_tests(below)

    def _moved(self, delta: str) -> str:
        return f"(key + {delta}).to_bytes(size, 'little')" if self._as_bytes else f"key + {delta}"

    def _remembered(self, transition: CheckedTransition) -> None:
        code, places = self.code, transition.touched
        numbers = ", ".join(f"p{place}" for place in places)
        code.line(f"found = memo_{transition.number}.get(({numbers},))")
        with code.block("if found is None:"):
            code.line(f"found = expand_{transition.number}({numbers})")
        with code.block("for name, delta in found:"):
            code.line(f"other = {self._moved('delta')}")
            code.line("to = look(other)")
            with code.block("if to is None:"):
                code.line("to = index[other] = len(states)")
                code.line("put(other)")
            code.lines("go(to)", "mark.append(name)")


@dataclass(slots=True)
class _TestTree:
    """Transitions that fire once all tests above them are passed."""

    fires: list[int] = field(default_factory=list)
    below: dict[str, "_TestTree"] = field(default_factory=dict)


def _tests(transition: CheckedTransition) -> list[str]:
    found = [
        f"p{step.place} >= {step.count}" if step.count > 1 else f"p{step.place}"
        for step in transition.plan.steps
        if isinstance(step, Enough)
    ]
    return found + [f"p{each.place} <= {each.most}" for each in transition.ceilings]


def _test_tree(tests: Mapping[int, list[str]]) -> _TestTree:
    """Joins what the tests of transitions have in common; the most frequent test comes first."""
    uses = Counter(test for each in tests.values() for test in each)
    root = _TestTree()
    for number, each in tests.items():
        order = sorted(each, key=lambda test: (-uses[test], test))
        rest = order[NESTING_MAX:]
        spot = root
        for test in (*order[:NESTING_MAX], *([" and ".join(rest)] if rest else [])):
            spot = spot.below.setdefault(test, _TestTree())
        spot.fires.append(number)
    return root
