"""Monitors: measurements of a run that do not change it.

    Count              how often a transition fires
    Collector          a value at each firing of a transition: mean, least, most
    TimeAverage        a value of the marking, averaged over time
    MarkingSize        the number of tokens of a place, averaged over time
    ListLength         the length of the list that a place holds, averaged over time
    FunctionCollector  the values that a Python function returns, called at firings
    Breakpoint         ends the run when a condition holds after a firing

Expressions of monitors read the binding of the transition, `now`, `size('Place')` and
`length('Place')`. `runs.py` combines the figures of several runs.
"""

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from dovemq.models.petri.checking import CheckedNet, CheckedTransition
from dovemq.models.petri.colours import Bool, Colour, ColourFit, List, Real, fits
from dovemq.models.petri.containers import Form, forms, size_code
from dovemq.models.petri.errors import ExpressionInvalid, Where, locating
from dovemq.models.petri.expressions import parse
from dovemq.models.petri.firing import Probe
from dovemq.models.petri.inference import Scope, Typed, infer
from dovemq.models.petri.searching import binding_text

Call: TypeAlias = Callable[[float, dict[str, Any]], float | None]


@dataclass(frozen=True, slots=True)
class Count:
    name: str
    transition: str
    when: str = "True"


@dataclass(frozen=True, slots=True)
class Collector:
    """Collects the expression `value` at each firing for which `when` is true."""

    name: str
    transition: str
    value: str
    when: str = "True"


@dataclass(frozen=True, slots=True)
class TimeAverage:
    name: str
    value: str


class MarkingSize(TimeAverage):
    def __init__(self, name: str, place: str) -> None:
        super().__init__(name, f"size({place!r})")


class ListLength(TimeAverage):
    def __init__(self, name: str, place: str) -> None:
        super().__init__(name, f"length({place!r})")


@dataclass(frozen=True, slots=True)
class FunctionCollector:
    """Calls Python functions at firings; `make` returns new ones for each run."""

    name: str
    transitions: tuple[str, ...]
    make: Callable[[], dict[str, Call]]


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Tests `when` after each firing of `transitions`, or of any transition if there are none."""

    name: str
    when: str
    transitions: tuple[str, ...] = ()


Monitor: TypeAlias = Count | Collector | TimeAverage | FunctionCollector | Breakpoint


class FiringCounter:
    """The number of firings."""

    least: float | None = None
    most: float | None = None

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, now: float) -> None:
        self.count = 0

    def see(self) -> None:
        self.count += 1

    def mean(self, now: float) -> float | None:
        return float(self.count)


class ValueStatistics:
    """Statistics of values with equal weights."""

    __slots__ = ("count", "least", "most", "total")

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, now: float) -> None:
        self.count = 0
        self.total = 0.0
        self.least, self.most = math.inf, -math.inf

    def see(self, value: float) -> None:
        self.count += 1
        self.total += value
        if value < self.least:
            self.least = value
        if value > self.most:
            self.most = value

    def mean(self, now: float) -> float | None:
        return self.total / self.count if self.count else None


class TimeStatistics:
    """Statistics of a value that lasts until the next one."""

    __slots__ = ("area", "began", "count", "least", "most", "since", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self.reset(0)

    def reset(self, now: float) -> None:
        self.area, self.count = 0.0, 0
        self.began = self.since = now
        self.least = self.most = self.value

    def see(self, now: float, value: float) -> None:
        self.area += self.value * (now - self.since)
        self.since = now
        self.value = value
        self.count += 1
        if value < self.least:
            self.least = value
        if value > self.most:
            self.most = value

    def mean(self, now: float) -> float | None:
        if now <= self.began:
            return None
        return (self.area + self.value * (now - self.since)) / (now - self.began)


Statistics: TypeAlias = ValueStatistics | TimeStatistics | FiringCounter


def statistics_of(monitors: Iterable[Monitor]) -> dict[str, Statistics]:
    """New statistics for each monitor that has figures."""
    kinds: dict[type[Monitor], type[Statistics]] = {
        Count: FiringCounter,
        Collector: ValueStatistics,
        FunctionCollector: ValueStatistics,
    }
    return {
        monitor.name: kinds.get(type(monitor), TimeStatistics)()
        for monitor in monitors
        if not isinstance(monitor, Breakpoint)
    }


def names_of(
    monitors: Sequence[Monitor], records: dict[str, Statistics]
) -> Iterable[tuple[str, Any]]:
    """The objects to which the code of the monitors refers in one run."""
    for number, monitor in enumerate(monitors):
        if isinstance(monitor, FunctionCollector):
            record = records[monitor.name]
            assert isinstance(record, ValueStatistics)
            for transition, call in monitor.make().items():
                yield f"w{number}_{monitor.transitions.index(transition)}", _watched(call, record)
        elif not isinstance(monitor, Breakpoint):
            yield f"m{number}", records[monitor.name].see


def _watched(call: Call, record: ValueStatistics) -> Callable[[float, dict[str, Any]], None]:
    def see(now: float, binding: dict[str, Any]) -> None:
        value = call(now, binding)
        if value is not None:
            record.see(value)

    return see


def probes_of(net: CheckedNet, monitors: Sequence[Monitor]) -> tuple[list[Probe], list[str]]:
    """The code of all monitors, and the lines that set time averages at the start."""
    writer = _ProbeWriter(net)
    probes: list[Probe] = []
    first: list[str] = []
    # A breakpoint ends the run, so it comes after the monitors that must see the firing.
    order = sorted(enumerate(monitors), key=lambda pair: isinstance(pair[1], Breakpoint))
    for number, monitor in order:
        probes += writer.probes(number, monitor)
        if isinstance(monitor, TimeAverage):
            first.append(f"m{number}(0, {writer.level(monitor)[0].code})")
    return probes, first


class _ProbeWriter:
    def __init__(self, net: CheckedNet) -> None:
        self._net = net
        self._forms = forms(net)
        self._seen: set[int] = set()

    def probes(self, number: int, monitor: Monitor) -> list[Probe]:
        if isinstance(monitor, Count | Collector):
            return [self._seen_firing(number, monitor)]
        if isinstance(monitor, FunctionCollector):
            return [
                Probe(frozenset((found.number,)), f"w{number}_{at}(now, {binding_text(found)})")
                for at, found in enumerate(map(self._net.transition, monitor.transitions))
            ]
        if isinstance(monitor, Breakpoint):
            return self._breakpoint(monitor)
        typed, places = self.level(monitor)
        near = [each.number for each in self._net.transitions if places & set(each.touched)]
        return [Probe(frozenset(near), f"m{number}(now, {typed.code})")]

    def level(self, monitor: TimeAverage) -> tuple[Typed, set[int]]:
        """The expression of a time average, and the places that it reads."""
        self._seen = set()
        typed = self._typed(monitor.name, monitor.value, None, Real(), Bool())
        return typed, set(self._seen)

    def _seen_firing(self, number: int, monitor: Count | Collector) -> Probe:
        transition = self._net.transition(monitor.transition)
        value = ""
        if isinstance(monitor, Collector):
            value = self._typed(monitor.name, monitor.value, transition, Real(), Bool()).code
        line = f"m{number}({value})"
        if monitor.when != "True":
            test = self._typed(monitor.name, monitor.when, transition, Bool())
            line = f"if {test.code}: {line}"
        return Probe(frozenset((transition.number,)), line)

    def _breakpoint(self, monitor: Breakpoint) -> list[Probe]:
        chosen = [self._net.transition(name) for name in monitor.transitions]
        only = chosen[0] if len(chosen) == 1 else None
        test = self._typed(monitor.name, monitor.when, only, Bool()).code
        numbers = frozenset(each.number for each in chosen or self._net.transitions)
        return [Probe(numbers, f"if {test}: raise Halt({monitor.name!r})")]

    def _typed(
        self, name: str, text: str, transition: CheckedTransition | None, *wanted: Colour
    ) -> Typed:
        with locating(Where(self._net.name, part=f"monitor {name}")):
            typed = infer(parse(text), self._scope(transition))
            if all(fits(typed.colour, colour) is ColourFit.NO for colour in wanted):
                raise ExpressionInvalid(f"{wanted[0]} is expected, but this is {typed.colour}")
            return typed

    def _scope(self, transition: CheckedTransition | None) -> Scope:
        net = self._net.net
        names = transition.variables if transition is not None else ()
        return replace(
            self._net.declared.scope,
            variables={name: net.variable_colours[name] for name in names},
            clock=net.time or Real(),
            marking=self._marking,
        )

    def _marking(self, word: str, name: str) -> ast.expr:
        if name not in self._net.number_of:
            raise ExpressionInvalid(f"no place is named {name!r}")
        place = self._net.place(name)
        self._seen.add(place.number)
        number, form = place.number, self._forms[place.number]
        if word == "length":
            if not isinstance(place.colour, List) or place.colour.timed:
                raise ExpressionInvalid(f"{name} does not hold a list")
            tokens = f"L{number}" if form is Form.PILE else f"B{number}.keys"
            return ast.parse(f"(len({tokens}[0]) if {tokens} else 0)", mode="eval").body
        return ast.parse(size_code(number, form, place.colour.timed), mode="eval").body
