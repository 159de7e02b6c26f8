"""Simulation: which transition fires next, and when time advances.

Transitions that may be enabled are candidates. The simulator draws one of the most urgent
candidates at random and tries it. A candidate that cannot fire is dropped until a place that it
takes from gains a token or a place that stops it loses one, so none is tried twice in vain.
Without candidates, time advances to the next delayed token in the agenda. Runs with equal seeds
are equal.
"""

import heapq
import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from dovemq.models.petri.checking import CheckedNet, checked
from dovemq.models.petri.containers import Form, TokenBag
from dovemq.models.petri.errors import NetFailed
from dovemq.models.petri.firing import NEVER, Compiled, compiled
from dovemq.models.petri.functions import chance_calls
from dovemq.models.petri.multisets import Multiset
from dovemq.models.petri.nets import Net
from dovemq.models.petri.writing import FAILURES

STEPS_AT_ONE_TIME_MAX: Final = 10_000_000
"""After this many firings without an advance of time, the run fails."""
CHUNK: Final = 100_000
"""Firings between two checks for a stop."""


class Halt(Exception):
    """Raised by the code of a breakpoint, after the firing is complete."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run.

    `reason` is `until`, `steps`, `dead` (nothing can ever fire again), `stopped` (by another
    thread) or the name of a breakpoint.
    """

    reason: str
    steps: int
    now: float


@dataclass(frozen=True, slots=True)
class Firing:
    """One firing."""

    now: float
    transition: str
    binding: dict[str, Any]


class Simulation:
    """One run of a net from its initial marking."""

    def __init__(
        self,
        net: Net | CheckedNet | Compiled,
        *,
        seed: int | str = 0,
        names: Iterable[tuple[str, Any]] = (),
        traced: bool = False,
    ) -> None:
        if not isinstance(net, Compiled):
            net = compiled(checked(net), traced=traced)
        self._compiled = net
        self.net = self._compiled.net
        self.now: float = 0
        self.steps = 0
        self.stopped = False
        """Another thread may set it to end the run soon."""
        self._rng = random.Random(seed)
        self._agenda: list[tuple[float, int, int, Any]] = []
        self._counts = [0] * len(self.net.places)
        self._future = [0] * len(self.net.places)
        self._queued = bytearray(len(self.net.transitions))
        self._candidates: list[list[int]] = [[] for _ in self._compiled.levels]
        self._last: list[Any] = []
        self._tokens: list[Any] = [None] * len(self.net.places)
        self._load(dict(names))
        self._fill()

    def _load(self, extra: dict[str, Any]) -> None:
        made: dict[str, Any] = {f"f_{name}": call for name, call in chance_calls(self._rng).items()}
        made |= {**self.net.declared.environment, **self._compiled.objects, **extra}
        made |= {"M": self._counts, "F": self._future, "Q": self._queued, "A": self._agenda}
        made |= {f"C{level}": each for level, each in enumerate(self._candidates)}
        made |= {"random": self._rng.random, "tick": itertools.count().__next__}
        made |= {"push": heapq.heappush, "never": NEVER, "last": self._last, "Halt": Halt}
        made["forget"] = self._forget
        made["sum_counts"] = lambda parts: sum(count for _, count in parts)
        for place, form in enumerate(self._compiled.forms):
            if form is Form.PILE:
                made[f"L{place}"] = self._tokens[place] = []
            elif form is Form.BAG:
                made[f"B{place}"] = self._tokens[place] = TokenBag()
        names = self._compiled.program.loaded(made)
        self._fire = [names[f"fire_{each.number}"] for each in self.net.transitions]
        self._due: list[Callable[[Any], None] | None] = [
            names.get(f"due_{place.number}") for place in self.net.places
        ]
        self.begin: Callable[[], None] = names["begin"]
        self._time_readers = [each.number for each in self.net.transitions if each.reads_time]

    def _fill(self) -> None:
        order = itertools.count(-sum(place.initial.size for place in self.net.places))
        for place in self.net.places:
            if place.colour.timed and place.at > 0:
                self._future[place.number] = place.initial.size
                for value in place.initial.elements():
                    entry = (place.at, next(order), place.number, value)
                    heapq.heappush(self._agenda, entry)
            else:
                for value, count in place.initial.items():
                    self._add(place.number, value, count)
        for transition in self.net.transitions:
            self._wake(transition.number)

    def _add(self, place: int, value: Any, count: int) -> None:
        form = self._compiled.forms[place]
        if form is Form.COUNTER:
            self._counts[place] += count
        elif form is Form.PILE:
            self._tokens[place].extend([value] * count)
        else:
            self._tokens[place].add(value, count)

    def _forget(self, place: int) -> None:
        """Removes the delayed tokens of a place that a firing resets."""
        self._agenda[:] = [entry for entry in self._agenda if entry[2] != place]
        heapq.heapify(self._agenda)
        self._future[place] = 0

    def _wake(self, number: int) -> None:
        if not self._queued[number]:
            self._queued[number] = 1
            level = self._compiled.levels.index(self.net.transitions[number].priority)
            self._candidates[level].append(number)

    def run(self, *, until: float = NEVER, steps: int | None = None) -> RunEnd:
        """Runs until time would pass `until`, for `steps` firings, or until nothing can fire."""
        last = self.steps + steps if steps is not None else None
        standing = 0
        while last is None or self.steps < last:
            if self.stopped:
                return RunEnd("stopped", self.steps, self.now)
            limit = CHUNK if last is None else min(CHUNK, last - self.steps)
            try:
                fired = self._fire_now(limit)
            except Halt as halt:
                return RunEnd(halt.name, self.steps, self.now)
            standing += fired
            if fired == limit:
                if last is None and standing >= STEPS_AT_ONE_TIME_MAX:
                    raise NetFailed(self.net.net.where, f"time does not advance beyond {self.now}")
                continue
            if not self._advance(until):
                reason = "until" if self._agenda else "dead"
                if self._agenda:
                    self.now = until
                return RunEnd(reason, self.steps, self.now)
            standing = 0
        return RunEnd("steps", self.steps, self.now)

    def step(self) -> Firing | None:
        """Fires once and returns the firing, or None if nothing can fire; needs `traced`."""
        if self.run(steps=1).reason == "dead":
            return None
        number, binding = self._last
        return Firing(self.now, self.net.transitions[number].name, dict(binding))

    def _fire_now(self, limit: int) -> int:
        """Fires what can fire now, the most urgent first, and returns the number of firings."""
        fired = 0
        now, fire, queued, draw = self.now, self._fire, self._queued, self._rng.random
        levels = self._candidates
        urgent, only = levels[0] if levels else [], len(levels) < 2
        try:
            while fired < limit:
                candidates = urgent
                if not only and not urgent:
                    for candidates in levels:
                        if candidates:
                            break
                count = len(candidates)
                if not count:
                    break
                at = int(draw() * count) if count > 1 else 0
                number = candidates[at]
                if fire[number](now):
                    fired += 1
                else:
                    queued[number] = 0
                    candidates[at] = candidates[-1]
                    candidates.pop()
        except Halt:
            fired += 1
            raise
        except FAILURES as error:
            raise self._compiled.program.failed(error) from error
        finally:
            self.steps += fired
        return fired

    def _advance(self, until: float) -> bool:
        """Advances time to the next delayed token; returns False if there is none by `until`."""
        agenda = self._agenda
        if not agenda or agenda[0][0] > until:
            return False
        self.now = now = agenda[0][0]
        pop, due = heapq.heappop, self._due
        while agenda and agenda[0][0] == now:
            _, _, place, value = pop(agenda)
            due[place](value)  # type: ignore[misc]  # Only timed places have entries.
        for number in self._time_readers:
            self._wake(number)
        return True

    def marking(self, name: str) -> Multiset:
        """All tokens of a place, including delayed ones."""
        place = self.net.place(name).number
        form, tokens = self._compiled.forms[place], self._tokens[place]
        if form is Form.COUNTER:
            value = self.net.places[place].only_value
            return Multiset({value: self._counts[place] + self._future[place]})
        waiting = Multiset(value for _, _, number, value in self._agenda if number == place)
        if form is Form.PILE:
            return Multiset(tokens) + waiting
        return Multiset(dict(zip(tokens.keys, tokens.counts, strict=True))) + waiting

    def markings(self) -> dict[str, Multiset]:
        """The tokens of every place of the flat net."""
        return {place.name: self.marking(place.name) for place in self.net.places}

    def timed_marking(self, name: str) -> list[tuple[float, Any]]:
        """The delayed tokens of a place, each with the time from which it can be taken."""
        place = self.net.place(name)
        return [
            (at, place.only_value if place.counted else value)
            for at, _, number, value in sorted(self._agenda)
            if number == place.number
        ]
