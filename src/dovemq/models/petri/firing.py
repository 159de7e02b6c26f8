"""Writes the simulator's code: for each transition, a function that finds a binding and fires it.

    fire_3(now)      returns True if transition 3 fired; otherwise nothing has changed
    due_5(value)     makes a delayed token of place 5 available

A firing runs in this order:

    search ──► take tokens ──► code segment ──► delays ──► put tokens ──► wake ──► monitors
    (no                                                    │ delay 0: into the place
     change                                                └ later:   onto the agenda
     yet)

Until the search has found a binding, nothing changes, so a failed attempt needs no undo. Monitors
run last and therefore see the marking after the firing. Generated code uses short names:

    M[p]  available tokens of counter p      F[p]  delayed tokens of place p
    Lp    list of pile p                     Bp    TokenBag of place p
    A     agenda: (time, order, place, value), a heap
    Q[t]  1 if transition t is a candidate   Cl    candidates of priority level l

`simulation.py` chooses which transition is next and when time advances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovemq.models.petri.bags import Bag, Conditional, Each, Some
from dovemq.models.petri.bindings import Enough, Scan
from dovemq.models.petri.checking import CheckedNet, CheckedTransition, Put
from dovemq.models.petri.containers import Form, forms, size_code
from dovemq.models.petri.inference import Typed
from dovemq.models.petri.searching import (
    binding_text,
    taken_values,
    write_definitions,
    write_search,
)
from dovemq.models.petri.writing import Code, Program

NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Probe:
    """Code that a monitor adds to the firing of some transitions."""

    transitions: frozenset[int]
    line: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled net, which can be loaded any number of times."""

    net: CheckedNet
    program: Program
    forms: tuple[Form, ...]
    levels: tuple[int, ...]
    objects: Mapping[str, Any]


def compiled(
    net: CheckedNet,
    probes: Sequence[Probe] = (),
    first: Sequence[str] = (),
    *,
    traced: bool = False,
) -> Compiled:
    """Compiles a net. `first` are lines that report the initial marking to monitors.

    With `traced`, each firing leaves its transition and binding in the list `last`.
    """
    writer = _Writer(net, probes, traced)
    write_definitions(writer.code, net)
    for transition in net.transitions:
        writer.fire(transition)
    for place in net.places:
        if place.colour.timed:
            writer.due(place.number)
    with writer.code.block("def begin():"):
        writer.code.lines(*first, "return")
    code = writer.code
    return Compiled(net, code.compiled(), tuple(writer.forms), writer.levels, code.objects)


def levels_of(net: CheckedNet) -> tuple[int, ...]:
    """The priorities in use, the most urgent first."""
    return tuple(sorted({transition.priority for transition in net.transitions}))


class _SimulatorView:
    """Scans start at a random token, so that every binding can be found."""

    def __init__(self, net: CheckedNet, forms: Sequence[Form]) -> None:
        self._net = net
        self._forms = forms

    def enough(self, place: int, count: int) -> str:
        return f"M[{place}] >= {count}" if count > 1 else f"M[{place}]"

    def at_most(self, place: int, count: int) -> str:
        timed = self._net.places[place].colour.timed
        return f"{size_code(place, self._forms[place], timed)} <= {count}"

    def scan(self, code: Code, step: Scan) -> None:
        place, number = step.take.place, step.subject
        tokens = f"L{place}" if self._forms[place] is Form.PILE else f"B{place}.keys"
        code.line(f"l{number} = {tokens}")
        code.line(f"n{number} = len(l{number})")
        code.open(f"if n{number}:")
        code.line(f"k{number} = int(random() * n{number}) if n{number} > 1 else 0")
        # Negative positions count from the end, so one range visits every position once.
        code.open(f"for i{number} in range(k{number} - n{number}, k{number}):")
        code.line(f"{step.subject} = l{number}[i{number}]")
        if step.take.count > 1:
            code.open(f"if {self.has(place, step.subject, step.take.count)}:")

    def holds(self, place: int, wanted: str) -> str:
        if self._forms[place] is Form.COUNTER:
            return f"M[{place}] >= sum_counts({wanted})"
        return f"B{place}.holds({wanted})"

    def has(self, place: int, value: str, count: int) -> str:
        return f"B{place}.count({value}) >= {count}"

    def draw(self, code: Code, variable: str, values: str) -> None:
        code.line(f"k_{variable} = int(random() * len({values}))")
        code.open(f"for i_{variable} in range(k_{variable} - len({values}), k_{variable}):")
        code.line(f"v_{variable} = {values}[i_{variable}]")


class _Writer:
    def __init__(self, net: CheckedNet, probes: Sequence[Probe], traced: bool) -> None:
        self.code = Code(net.name)
        self.forms = forms(net)
        self.levels = levels_of(net)
        self._net = net
        self._probes = probes
        self._traced = traced
        self._view = _SimulatorView(net, self.forms)
        self._followers: list[list[int]] = [[] for _ in net.places]
        for transition in net.transitions:
            for place in transition.inputs:
                self._followers[place].append(transition.number)
        self._waiters: list[list[int]] = [[] for _ in net.places]
        for transition in net.transitions:
            for ceiling in transition.ceilings:
                self._waiters[ceiling.place].append(transition.number)

    def fire(self, transition: CheckedTransition) -> None:
        code = self.code
        with code.at(transition.where), code.block(f"def fire_{transition.number}(now):"):
            with code.restored():
                write_search(code, transition, self._view)
                self._fired(transition)
                code.line("return True")
            code.line("return False")

    def due(self, place: int) -> None:
        with self.code.block(f"def due_{place}(value):"):
            self._add(place, "value", "1")
            self.code.line(f"F[{place}] -= 1")
            self._wake([place], [], None)

    def _fired(self, transition: CheckedTransition) -> None:
        code = self.code
        # Input tokens are removed before anything is computed, as a firing is atomic: if the
        # code segment fails, the run ends with an error and the marking is not used again.
        kept = _kept(transition, self._net)
        swapped = self._swapped(transition, kept)
        self._take(transition, kept, swapped)
        for place in transition.resets:
            self._reset(place)
        for name, typed in transition.code:
            with code.at(transition.where.at(part=f"code segment, {name}")):
                code.line(f"v_{name} = {typed.code}")
        if transition.delay is not None:
            with code.at(transition.where.at(part="delay")):
                self._delay("d", transition.delay)
        for put in transition.puts:
            if put not in kept.values():
                with code.at(transition.where.at(arc=put.arc)):
                    self._put(transition, put, swapped.get(put.place))
        # A transition can only become enabled when a place that it takes from gains a token, or
        # one that stops it by a ceiling loses one. The fired transition itself stays a candidate
        # until an attempt fails.
        gained = [put.place for put in transition.puts if put not in kept.values()]
        lost = [place for place in transition.inputs if place not in kept and place not in swapped]
        self._wake(gained, [*sorted(lost), *transition.resets], transition.number)
        for probe in self._probes:
            if transition.number in probe.transitions:
                code.line(probe.line)
        if self._traced:
            code.line(f"last[:] = ({transition.number}, {binding_text(transition)})")

    def _take(
        self, transition: CheckedTransition, kept: Mapping[int, Put], swapped: Mapping[int, str]
    ) -> None:
        code = self.code
        for step in transition.plan.steps:
            if isinstance(step, Enough) and step.place not in kept:
                code.line(f"M[{step.place}] -= {step.count}")
        for take, subject in taken_values(transition):
            if take.place in kept or take.place in swapped:
                continue
            if self.forms[take.place] is Form.BAG:
                code.line(f"B{take.place}.take({subject}, {take.count})")
                continue
            # Piles have no order: the last token fills the gap. The scan's position may be
            # negative; if it is that of the last token itself, popping has removed it.
            code.line(f"w = l{subject}.pop()")
            code.line(f"if i{subject} < 0: i{subject} += n{subject}")
            code.line(f"if i{subject} < n{subject} - 1: l{subject}[i{subject}] = w")
        for number, part in enumerate(transition.plan.computed_takes):
            with code.block(f"for each, count in r{number}:"):
                if self.forms[part.place] is Form.COUNTER:
                    code.line(f"M[{part.place}] -= count")
                else:
                    code.line(f"if count: B{part.place}.take(each, count)")

    def _reset(self, place: int) -> None:
        clear = {Form.COUNTER: f"M[{place}] = 0", Form.PILE: f"L{place}.clear()"}
        self.code.line(clear.get(self.forms[place], f"B{place}.clear()"))
        if self._net.places[place].colour.timed:
            self.code.line(f"forget({place})")

    def _swapped(self, transition: CheckedTransition, kept: Mapping[int, Put]) -> dict[int, str]:
        """Piles in which one token replaces another: the new one is written over the old one.

        This keeps the common `flow` arcs free of list operations.
        """
        found: dict[int, str] = {}
        for take, subject in taken_values(transition):
            place = self._net.places[take.place]
            puts = [put for put in transition.puts if put.place == take.place]
            if self.forms[take.place] is not Form.PILE or place.colour.timed:
                continue
            if take.place in kept or take.place in transition.resets:
                continue
            if len(puts) == 1 and _single(puts[0].bag):
                found[take.place] = f"l{subject}[i{subject}]"
        return found

    def _put(self, transition: CheckedTransition, put: Put, swap: str | None) -> None:
        delays = []
        if self._net.places[put.place].colour.timed:
            if transition.delay is not None:
                delays.append("d")
            if put.delay is not None:
                self._delay("e", put.delay)
                delays.append("e")
        if delays:
            self.code.line(f"at = now + {' + '.join(delays)}")
        self._put_bag(put, put.bag, bool(delays), swap)

    def _delay(self, name: str, delay: Typed) -> None:
        self.code.line(f"{name} = {delay.code}")
        with self.code.block(f"if not 0 <= {name} < never:"):
            self.code.line(f"raise ValueError(f'a delay of {{{name}}}')")

    def _put_bag(self, put: Put, bag: Bag, delayed: bool, swap: str | None) -> None:
        code = self.code
        for part in bag:
            if isinstance(part, Conditional):
                for head, inner in ((f"if {part.test.code}:", part.then), ("else:", part.other)):
                    with code.block(head):
                        self._put_bag(put, inner, delayed, swap)
                        code.line("pass")
            elif isinstance(part, Each):
                with code.block(f"for each in {part.items.code}:"):
                    self._put_value(put, "each", "1", part.runtime_check, delayed, None)
            else:
                self._put_some(put, part, delayed, swap)

    def _put_some(self, put: Put, part: Some, delayed: bool, swap: str | None) -> None:
        count = part.count.code
        if not count.isdecimal():
            # Taking a negative number of tokens would corrupt the place silently.
            self.code.line(f"count = {count}")
            self.code.line("if count < 0: raise ValueError('a negative count of tokens')")
            count = "count"
        value = part.value.code
        if self.forms[put.place] is Form.COUNTER:
            value = "()"
        elif part.runtime_check or count != "1":
            self.code.line(f"each = {value}")
            value = "each"
        self._put_value(put, value, count, part.runtime_check, delayed, swap)

    def _put_value(
        self, put: Put, value: str, count: str, runtime_check: bool, delayed: bool, swap: str | None
    ) -> None:
        code, place = self.code, put.place
        if runtime_check and value != "()":
            colour = code.named("admits_", self._net.places[place].colour)
            text = f"{self._net.places[place].name} holds {self._net.places[place].colour}"
            with code.block(f"if not {colour}.admits({value}):"):
                code.line(f"raise ValueError({text!r} + f', not {{{value}!r}}')")
        if swap is not None:
            code.line(f"{swap} = {value}")
        elif not delayed:
            self._add(place, value, count)
        else:
            # `tick` keeps tokens of equal times in the order in which they were put, and keeps
            # the heap from comparing values of different colours.
            with code.block("if at > now:"):
                code.line(f"F[{place}] += {count}")
                push = f"push(A, (at, tick(), {place}, {value}))"
                code.line(push if count == "1" else f"for _ in range({count}): {push}")
            with code.block("else:"):
                self._add(place, value, count)

    def _add(self, place: int, value: str, count: str) -> None:
        form = self.forms[place]
        if form is Form.COUNTER:
            self.code.line(f"M[{place}] += {count}")
        elif form is Form.BAG:
            self.code.line(
                f"B{place}.add({value}, {count})" if count != "1" else f"B{place}.add({value})"
            )
        elif count == "1":
            self.code.line(f"L{place}.append({value})")
        else:
            self.code.line(f"L{place}.extend([{value}] * {count})")

    def _wake(self, gained: Sequence[int], lost: Sequence[int], own: int | None) -> None:
        woken = [number for place in gained for number in self._followers[place]]
        woken += [number for place in lost for number in self._waiters[place]]
        for number in dict.fromkeys(each for each in woken if each != own):
            level = self.levels.index(self._net.transitions[number].priority)
            self.code.line(f"if not Q[{number}]: Q[{number}] = 1; C{level}.append({number})")


def _kept(transition: CheckedTransition, net: CheckedNet) -> dict[int, Put]:
    """Places from which a token is taken and put back unchanged, so that no code is needed.

    A timed place never counts: putting a token back changes its time.
    """
    kept: dict[int, Put] = {}
    computed_takes = {part.place for part in transition.plan.computed_takes}
    for take in transition.takes:
        puts = [put for put in transition.puts if put.place == take.place]
        same = [other for other in transition.takes if other.place == take.place]
        if net.places[take.place].colour.timed or take.place in computed_takes:
            continue
        if take.place in transition.resets:
            continue
        if len(puts) != 1 or len(same) != 1 or len(puts[0].bag) != 1:
            continue
        part = puts[0].bag[0]
        if not isinstance(part, Some) or part.count.code != str(take.count):
            continue
        if part.value.code == take.value.code or net.places[take.place].counted:
            kept[take.place] = puts[0]
    return kept


def _single(bag: Bag) -> bool:
    return len(bag) == 1 and isinstance(bag[0], Some) and bag[0].count.code == "1"
