"""State spaces: all markings that a net can reach, explored breadth first, within limits.

Time is ignored: a delayed token can be taken at once, so the markings of the timed net are among
these, perhaps with others. Priorities are kept. If a limit stops the exploration,
`StateSpace.stopped` says so, and figures that need the whole graph raise an error.
"""

import contextlib
import functools
import gc
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dovemq.models.petri.checking import CheckedNet, checked
from dovemq.models.petri.errors import NetInvalid, NetTooLarge
from dovemq.models.petri.exploring import (
    CHANGES_MAX,
    ExplorerWriter,
    constant_effect,
    refuse_random,
)
from dovemq.models.petri.graph import Graph
from dovemq.models.petri.multisets import Multiset, totals
from dovemq.models.petri.nets import Net
from dovemq.models.petri.packing import (
    INTEGER_BYTES_MAX,
    WIDENINGS_MAX,
    Packing,
    Stored,
    columns,
    first_packing,
    limit_of,
)
from dovemq.models.petri.writing import FAILURES

MARKINGS_MAX: Final = 1_000_000
TOKENS_MAX: Final = 2**24 - 1
ROWS: Final = 1_000
"""Markings that are unpacked at a time."""
CHUNK: Final = 20_000
"""Markings between two calls of `progress`."""

Amounts = tuple[tuple[Any, int], ...]
"""(value, count) pairs that are taken or put."""
Progress = Callable[[int, int], bool]
"""Called with (markings found, markings expanded); returns whether to go on."""


@dataclass(frozen=True, slots=True)
class Limits:
    markings_max: int = MARKINGS_MAX
    tokens_max: int = 10_000
    """Tokens of one place of a single value; a place with more counts as unbounded."""

    def __post_init__(self) -> None:
        if self.markings_max < 1 or not 1 <= self.tokens_max <= TOKENS_MAX:
            raise ValueError(f"limits are at least 1, and tokens at most {TOKENS_MAX}")


class _Overflow(Exception):
    pass


class _FieldFull(Exception):
    """The field of a place is too narrow for its number."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


@dataclass(slots=True)
class StateSpace:
    """A state space. Marking 0 is the initial one; `stopped` is empty if the graph is complete."""

    net: CheckedNet
    stopped: str
    states: list[Stored]
    packing: Packing
    graph: Graph
    labels: "array[int]"
    bindings: list[tuple[int, dict[str, Any]]]
    kinds: dict[int, list[dict[Any, int]]] = field(repr=False)

    @property
    def complete(self) -> bool:
        return not self.stopped

    @property
    def markings(self) -> int:
        return len(self.states)

    @property
    def edges(self) -> int:
        return len(self.graph.targets)

    def marking(self, number: int) -> dict[str, Multiset]:
        numbers = self.packing.numbers(self.states[number])
        return {place.name: self._held(place.number, numbers) for place in self.net.places}

    def _held(self, place: int, numbers: tuple[int, ...]) -> Multiset:
        if place in self.kinds:
            return Multiset(self.kinds[place][numbers[place]])
        return Multiset({self.net.places[place].only_value: numbers[place]})

    def leaving(self, number: int) -> Iterator[tuple[str, dict[str, Any], int]]:
        """Yields (transition, binding, next marking) for each firing that a marking enables."""
        for at in self.graph.edges_of(number):
            transition, binding = self.bindings[self.labels[at]]
            yield self.net.transitions[transition].name, binding, self.graph.targets[at]

    def bounds(self) -> dict[str, tuple[int, int]]:
        """The least and greatest number of tokens of each place."""
        self._whole("bounds")
        found = {}
        for place, numbers in zip(self.net.places, self._seen(), strict=True):
            sizes = numbers
            if place.number in self.kinds:
                kinds = self.kinds[place.number]
                sizes = {sum(kinds[number].values()) for number in numbers}
            found[place.name] = (min(sizes), max(sizes))
        return found

    def _seen(self) -> list[set[int]]:
        """The numbers that each place has in any marking."""
        found: list[set[int]] = [set() for _ in self.net.places]
        for rows in columns(self.packing, self.states, ROWS):
            for seen, column in zip(found, rows, strict=True):
                seen.update(column)
        return found

    def upper_multisets(self) -> dict[str, Multiset]:
        """The greatest number of tokens of each place and value."""
        self._whole("bounds")
        found = {}
        for place, numbers in zip(self.net.places, self._seen(), strict=True):
            most: dict[Any, int] = {}
            for number in numbers:
                held = self._held(place.number, {place.number: number})  # type: ignore[arg-type]
                for value, count in held.items():
                    most[value] = max(most.get(value, 0), count)
            found[place.name] = Multiset(most)
        return found

    def dead_markings(self) -> list[int]:
        return self._whole("dead markings").leaves()

    def components(self) -> list[int]:
        """The number of the strongly connected component of each marking."""
        return self._whole("components").components

    def home_markings(self) -> list[int]:
        """Markings that can be reached from every marking."""
        graph = self._whole("home markings")
        last = graph.last_components()
        if len(last) != 1:
            return []
        return [at for at, each in enumerate(graph.components) if each in last]

    def dead_transitions(self) -> list[str]:
        """The transitions that never fire."""
        self._whole("dead transitions")
        seen = {self.bindings[label][0] for label in set(self.labels)}
        return [each.name for each in self.net.transitions if each.number not in seen]

    def live_transitions(self) -> list[str]:
        """The transitions that can always fire again: they fire in every last component."""
        last = self._whole("liveness").last_components()
        seen: dict[int, set[int]] = {component: set() for component in last}
        components = self.graph.components
        for state in range(len(self.states)):
            component = components[state]
            if component in last:
                for at in self.graph.edges_of(state):
                    seen[component].add(self.bindings[self.labels[at]][0])
        always = set.intersection(*seen.values()) if seen else set()
        return [each.name for each in self.net.transitions if each.number in always]

    def _whole(self, what: str) -> Graph:
        """Returns the graph for figures that need all of it."""
        if self.stopped:
            where = self.net.net.where
            raise NetTooLarge(where, f"{what} need the whole graph, but {self.stopped}")
        return self.graph


def state_space(
    net: Net | CheckedNet, limits: Limits | None = None, progress: Progress | None = None
) -> StateSpace:
    """Explores the markings reachable from the initial one, up to the limits."""
    net = checked(net)
    if not net.places:
        raise NetInvalid(net.net.where, "a net without places has no markings")
    refuse_random(net)
    with _uncollected():
        return _Exploration(net, limits or Limits()).run(progress)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Pauses the garbage collector.

    It would scan millions of tuples without a cycle again and again, a third of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Exploration:
    def __init__(self, net: CheckedNet, limits: Limits) -> None:
        self._net = net
        self._limits = limits
        self._packing = first_packing(net)
        self._as_bytes = self._packing.size > INTEGER_BYTES_MAX
        self._widenings = 0
        self._kinds: dict[int, list[dict[Any, int]]] = {
            place.number: [] for place in net.places if not place.counted
        }
        self._numbers: dict[int, dict[frozenset[Any], int]] = {place: {} for place in self._kinds}
        self._bindings: list[tuple[int, dict[str, Any]]] = [
            (transition.number, {}) for transition in net.transitions
        ]
        writer = ExplorerWriter(net, self._as_bytes)
        writer.write()
        self._program = writer.code.compiled()
        names: dict[str, Any] = {**net.declared.environment, **writer.code.objects}
        names |= {f"kinds_{place}": kinds for place, kinds in self._kinds.items()}
        self._memos: list[dict[Any, Any]] = [{} for _ in net.transitions]
        names |= {f"memo_{number}": memo for number, memo in enumerate(self._memos)}
        self._labels: list[dict[Any, int]] = [{} for _ in net.transitions]
        names |= {f"labels_{number}": known for number, known in enumerate(self._labels)}
        self._changes: list[dict[Any, int]] = [{} for _ in net.places]
        for place, known in enumerate(self._changes):
            names[f"changes_{place}"] = known
            names[f"change_{place}"] = functools.partial(self._change, place, known)
        names |= {
            "holds": _holds,
            "size_of": _size,
            "label": self._label,
            "from_bytes": int.from_bytes,
        }
        self._effects = [constant_effect(each, net) or {} for each in net.transitions]
        gains = [
            tuple((place, amount) for place, amount in effect.items() if amount > 0)
            for effect in self._effects
        ]
        names |= {"full": self._full, "gains": gains}
        self._names = self._program.loaded(names)
        self._explore = self._names["explore"]
        self._fit()

    def run(self, progress: Progress | None) -> StateSpace:
        state = tuple(self._initial(place.number) for place in self._net.places)
        first = self._packing.stored(state, self._as_bytes)
        states, index = [first], {first: 0}
        targets, labels, offsets = array("i"), array("i"), array("q", [0])
        stopped, expanded = "", 0
        most = self._limits.markings_max
        try:
            while expanded < len(states) and not stopped:
                try:
                    expanded = self._explore(states, index, targets, labels, offsets, most, CHUNK)
                except _FieldFull as full:
                    # The marking that was being expanded is expanded again.
                    del targets[offsets[-1] :], labels[offsets[-1] :]
                    self._widen(full.place, states, index)
                    continue
                if expanded < len(states) >= most:
                    stopped = f"the limit of {most} markings was met"
                elif progress is not None and not progress(len(states), expanded):
                    stopped = f"it was stopped at {len(states)} markings"
        except _Overflow as full:
            stopped = str(full)
        except FAILURES as error:
            raise self._program.failed(error) from error
        graph = Graph(offsets, targets, len(states))
        return StateSpace(
            self._net, stopped, states, self._packing, graph, labels, self._bindings, self._kinds
        )

    def _fit(self) -> None:
        """Gives the generated code the numbers that depend on the packing."""
        packing = self._packing
        shifts, limit = packing.shifts, self._limits.tokens_max
        self._names["size"], self._names["unpack"] = packing.size, packing.unpack
        self._names["most"] = [min(limit, limit_of(width)) for width in packing.widths]
        self._names["deltas"] = [
            sum(amount << shifts[place] for place, amount in effect.items())
            for effect in self._effects
        ]

    def _widen(self, place: int, states: list[Stored], index: dict[Stored, int]) -> None:
        before = self._packing
        self._widenings += 1
        self._packing = before.wider(place, every=self._widenings > WIDENINGS_MAX)
        for at, stored in enumerate(states):
            states[at] = self._packing.stored(before.numbers(stored), self._as_bytes)
        index.clear()
        index.update(zip(states, range(len(states)), strict=True))
        for known in (*self._memos, *self._changes):
            known.clear()
        self._fit()

    def _initial(self, place: int) -> int:
        held = self._net.places[place].initial
        return self._number(place, dict(held)) if place in self._kinds else held.size

    def _number(self, place: int, held: dict[Any, int]) -> int:
        key = frozenset(held.items())
        number = self._numbers[place].get(key)
        if number is None:
            number = self._numbers[place][key] = len(self._kinds[place])
            self._kinds[place].append(held)
        if number > limit_of(self._packing.widths[place]):
            raise _FieldFull(place)
        return number

    def _label(self, transition: int, values: Any, binding: dict[str, Any]) -> int:
        self._bindings.append((transition, binding))
        number = self._labels[transition][values] = len(self._bindings) - 1
        return number

    def _change(self, place: int, known: dict[Any, int], key: tuple[int, Amounts, Amounts]) -> int:
        """Returns what is added to the key of the marking."""
        number, gone, come = key
        new = self._changed(place, number, gone, come)
        change = (new - number) << self._packing.shifts[place]
        if len(known) < CHANGES_MAX:
            known[key] = change
        return change

    def _changed(self, place: int, number: int, gone: Amounts, come: Amounts) -> int:
        if place not in self._kinds:
            new = number + sum(count for _, count in come) - sum(count for _, count in gone)
            if new > number and new > self._limits.tokens_max:
                self._overflow(place)
            if new > limit_of(self._packing.widths[place]):
                raise _FieldFull(place)
            return new
        held = dict(self._kinds[place][number])
        colour = self._net.places[place].colour
        for value, count in gone:
            held[value] = held.get(value, 0) - count
        for value, count in come:
            if count < 0 or not colour.admits(value):
                name = self._net.places[place].name
                raise ValueError(f"{name} holds {colour}, not {count} of {value!r}")
            held[value] = held.get(value, 0) + count
        return self._number(place, {value: count for value, count in held.items() if count})

    def _full(self, place: int) -> None:
        """Called where a firing would leave more tokens than the field or the limit allows."""
        if self._names["most"][place] >= self._limits.tokens_max:
            self._overflow(place)
        raise _FieldFull(place)

    def _overflow(self, place: int) -> None:
        name = self._net.places[place].name
        raise _Overflow(f"place {name} came to hold more than {self._limits.tokens_max} tokens")


def _size(held: dict[Any, int]) -> int:
    return sum(held.values())


def _holds(held: dict[Any, int] | None, count: int, wanted: Iterable[tuple[Any, int]]) -> bool:
    if held is None:
        return count >= sum(each for _, each in wanted)
    return all(held.get(value, 0) >= each for value, each in totals(wanted).items())
