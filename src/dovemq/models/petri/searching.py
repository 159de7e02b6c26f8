"""Writes the code that finds a binding: nested loops and tests, one nest for each transition.

`write_search` follows a plan (`bindings.py`). A `View` writes how the code reads the tokens of a
place, which differs between the simulator and the state space. The result looks like this:

    if M[2]:                                  Enough: a counter
        for s1 in …tokens of place 0…:        Scan
            v_c = s1[0]; v_n = s1[1]
            if v_n < 10:                      Test
                s3 = v_c
                if …place 1 holds s3…:        LookUp
                    …                         the caller continues here

The caller writes what happens with a binding at the innermost level.
"""

from typing import Protocol

from dovemq.models.petri.bags import Bag, Conditional, Each, Some
from dovemq.models.petri.bindings import Assign, Draw, Enough, LookUp, Scan, Take, Test
from dovemq.models.petri.checking import CheckedNet, CheckedTransition
from dovemq.models.petri.writing import Code


class View(Protocol):
    """Writes how code reads the tokens of a place."""

    def enough(self, place: int, count: int) -> str:
        """A test for `count` tokens of the only value."""

    def at_most(self, place: int, count: int) -> str:
        """A test for at most `count` tokens of any value, delayed or not."""

    def scan(self, code: Code, step: Scan) -> None:
        """Opens a loop over the values of a place."""

    def holds(self, place: int, wanted: str) -> str:
        """A test for several (value, count) pairs at once."""

    def has(self, place: int, value: str, count: int) -> str:
        """A test for `count` tokens of one value."""

    def draw(self, code: Code, variable: str, values: str) -> None:
        """Opens a loop over the values of a variable that nothing binds."""


def write_search(code: Code, transition: CheckedTransition, view: View) -> None:
    """Opens blocks down to the level at which every variable is bound."""
    enough = [step for step in transition.plan.steps if isinstance(step, Enough)]
    tests = [view.enough(step.place, step.count) for step in enough]
    tests += [view.at_most(each.place, each.most) for each in transition.ceilings]
    if tests:
        code.open(f"if {' and '.join(tests)}:")
    for step in transition.plan.steps:
        if isinstance(step, Scan):
            _write_scan(code, step, transition, view)
        elif isinstance(step, LookUp):
            with code.at(transition.where.at(arc=step.take.arc)):
                code.line(f"{step.subject} = {step.take.value.code}")
                code.open(f"if {view.has(step.take.place, step.subject, step.take.count)}:")
        elif isinstance(step, Assign):
            code.line(f"v_{step.variable} = {step.value}")
            if step.runtime_check is not None:
                admits = code.named("admits_", step.runtime_check)
                code.open(f"if {admits}.admits(v_{step.variable}):")
        elif isinstance(step, Test):
            with code.at(transition.where.at(part="guard")):
                code.open(f"if {step.code}:")
        elif isinstance(step, Draw):
            view.draw(code, step.variable, code.named("values_", step.values))
    _write_together(code, transition, view)


def _write_scan(code: Code, step: Scan, transition: CheckedTransition, view: View) -> None:
    with code.at(transition.where.at(arc=step.take.arc)):
        view.scan(code, step)
        pattern = step.pattern
        for shape in pattern.shapes:
            code.open(f"if {shape}:")
        tests = [f"v_{name} == {at}" for name, at in pattern.repeats]
        for name, at in pattern.binds.items():
            if name in step.known:
                tests.append(f"v_{name} == {at}")
            else:
                code.line(f"v_{name} = {at}")
        if pattern.computed:
            # Compare the whole value: a part such as [*a, *b] matches only as a whole.
            tests.append(f"{step.subject} == {step.take.value.code}")
        if tests:
            code.open(f"if {' and '.join(tests)}:")


def _write_together(code: Code, transition: CheckedTransition, view: View) -> None:
    """Tests arcs that compete for tokens of one place together.

    Each search step tests its own arc only, so two arcs may have found the same single token.
    """
    wanted: dict[int, list[str]] = {}
    for take, subject in taken_values(transition):
        wanted.setdefault(take.place, []).append(f"({subject}, {take.count})")
    computed_takes = {part.place for part in transition.plan.computed_takes}
    for number, part in enumerate(transition.plan.computed_takes):
        with code.at(transition.where.at(arc=part.arc)):
            code.line(f"r{number} = []")
            write_bag(code, part.bag, f"r{number}")
        wanted.setdefault(part.place, []).append(f"*r{number}")
    counted = {step.place: step.count for step in transition.plan.steps if isinstance(step, Enough)}
    for place, parts in wanted.items():
        if place in counted and place in computed_takes:
            parts.append(f"((), {counted[place]})")
        if place in computed_takes or len(parts) > 1:
            code.open(f"if {view.holds(place, '(' + ', '.join(parts) + ',)')}:")


def write_bag(code: Code, bag: Bag, into: str) -> None:
    """Writes code that appends (value, count) for each part of a multiset."""
    for part in bag:
        if isinstance(part, Conditional):
            for head, inner in ((f"if {part.test.code}:", part.then), ("else:", part.other)):
                with code.block(head):
                    write_bag(code, inner, into)
                    code.line("pass")
        elif isinstance(part, Each):
            code.line(f"{into} += [(each, 1) for each in {part.items.code}]")
        elif isinstance(part, Some):
            code.line(f"{into}.append(({part.value.code}, {part.count.code}))")


def write_definitions(code: Code, net: CheckedNet) -> None:
    """Writes the functions that the net declares."""
    for definition in net.declared.definitions:
        parameters = ", ".join(f"v_{name}" for name in definition.parameters)
        with code.block(f"def f_{definition.name}({parameters}):"):
            code.line(f"return {definition.body.code}")


def taken_values(transition: CheckedTransition) -> list[tuple[Take, str]]:
    """The arcs from places of many values, each with the name of its token in the code."""
    return [
        (step.take, step.subject)
        for step in transition.plan.steps
        if isinstance(step, Scan | LookUp)
    ]


def binding_text(transition: CheckedTransition) -> str:
    """Code for a dictionary of all variables."""
    return "{" + ", ".join(f"{name!r}: v_{name}" for name in transition.variables) + "}"
