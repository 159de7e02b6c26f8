"""The forms in which the simulator holds the tokens of a place, chosen by how arcs use them.

    counter   tokens of one value: a number
    pile      tokens that are only scanned: an unordered list
    bag       tokens that are also looked up by value: distinct values with counts

These forms hold available tokens only. Delayed tokens wait in the agenda of the simulation.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dovemq.models.petri.bindings import LookUp, Scan
from dovemq.models.petri.checking import CheckedNet
from dovemq.models.petri.multisets import totals


class Form(StrEnum):
    COUNTER = "counter"
    PILE = "pile"
    BAG = "bag"


def forms(net: CheckedNet) -> list[Form]:
    found = [Form.COUNTER if place.counted else Form.PILE for place in net.places]
    for transition in net.transitions:
        computed = [take.place for take in transition.plan.computed_takes]
        steps = [step for step in transition.plan.steps if isinstance(step, LookUp | Scan)]
        arcs = Counter([*computed, *(step.take.place for step in steps)])
        looked_up = {place for place, count in arcs.items() if count > 1} | set(computed)
        for step in steps:
            if isinstance(step, LookUp) or step.take.count > 1:
                looked_up.add(step.take.place)
        for place in looked_up:
            if found[place] is Form.PILE:
                found[place] = Form.BAG
    return found


def size_code(place: int, form: Form, timed: bool) -> str:
    """Code for the number of tokens of a place, including delayed ones."""
    text = {
        Form.COUNTER: f"M[{place}]",
        Form.PILE: f"len(L{place})",
        Form.BAG: f"B{place}.size",
    }[form]
    return f"({text} + F[{place}])" if timed else text


@dataclass(slots=True, eq=False)
class TokenBag:
    """Distinct values with counts, in a list so that one can be drawn by its position."""

    keys: list[Any] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    places: dict[Any, int] = field(default_factory=dict)
    size: int = 0

    def add(self, value: Any, count: int = 1) -> None:
        place = self.places.get(value)
        if place is None:
            self.places[value] = len(self.keys)
            self.keys.append(value)
            self.counts.append(count)
        else:
            self.counts[place] += count
        self.size += count

    def count(self, value: Any) -> int:
        place = self.places.get(value)
        return 0 if place is None else self.counts[place]

    def take(self, value: Any, count: int = 1) -> None:
        place = self.places[value]
        self.size -= count
        if self.counts[place] > count:
            self.counts[place] -= count
            return
        del self.places[value]
        last_key, last_count = self.keys.pop(), self.counts.pop()
        if place < len(self.keys):
            self.keys[place] = last_key
            self.counts[place] = last_count
            self.places[last_key] = place

    def clear(self) -> None:
        self.keys.clear()
        self.counts.clear()
        self.places.clear()
        self.size = 0

    def holds(self, wanted: Iterable[tuple[Any, int]]) -> bool:
        """Whether all of the wanted tokens can be taken together."""
        return all(self.count(value) >= count for value, count in totals(wanted).items())
