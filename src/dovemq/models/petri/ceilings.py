"""Ceilings: the most tokens that a place may hold for a transition to be enabled.

Inhibitor arcs and capacities are both ceilings, so that the engines know one kind of test:

    inhibitor arc of weight w     the place holds at most w - 1 tokens
    capacity K, a gain of g       the place holds at most K - g tokens

Tokens are counted whatever their values are, and delayed tokens too. The gain is what a firing puts
less what it takes. It must be a constant, so that it is known before the firing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dovemq.models.petri.bags import Bag, Conditional, Some
from dovemq.models.petri.colours import Int
from dovemq.models.petri.errors import ExpressionInvalid

Amounts = Iterable[tuple[int, int | None]]
"""Places and numbers of tokens; None is a number that only the run can tell."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The transition is enabled only while the place holds at most `most` tokens."""

    place: int
    most: int


def size_of(bag: Bag) -> int | None:
    """The number of tokens of a multiset expression, if it is a constant."""
    total = 0
    for part in bag:
        size: int | None = None
        if isinstance(part, Conditional):
            then, other = size_of(part.then), size_of(part.other)
            size = then if then == other else None
        elif isinstance(part, Some) and isinstance(part.count.colour, Int):
            least, most = part.count.colour.least, part.count.colour.most
            size = least if least == most else None
        if size is None:
            return None
        total += size
    return total


def ceilings_of(
    inhibitors: Iterable[tuple[int, int]],
    capacities: Mapping[int, int],
    taken: Amounts,
    put: Amounts,
    resets: Iterable[int],
) -> tuple[Ceiling, ...]:
    """The ceilings of a transition, one for each place that has any."""
    found: dict[int, int] = {}
    for place, weight in inhibitors:
        found[place] = min(found.get(place, weight - 1), weight - 1)
    for place, room in _rooms(capacities, list(taken), list(put), frozenset(resets)).items():
        found[place] = min(found.get(place, room), room)
    return tuple(Ceiling(place, most) for place, most in sorted(found.items()))


def _rooms(
    capacities: Mapping[int, int],
    taken: list[tuple[int, int | None]],
    put: list[tuple[int, int | None]],
    resets: frozenset[int],
) -> dict[int, int]:
    """The most tokens that each place of limited capacity may hold before a firing."""
    found = {}
    for place in {place for place, _ in put} & set(capacities):
        more = _total(place, put)
        if place in resets:
            # The firing empties the place, so only the tokens that it puts count.
            if more > capacities[place]:
                found[place] = -1
            continue
        gain = more - _total(place, taken)
        if gain > 0:
            found[place] = capacities[place] - gain
    return found


def _total(place: int, amounts: list[tuple[int, int | None]]) -> int:
    total = 0
    for other, amount in amounts:
        if other != place:
            continue
        if amount is None:
            raise ExpressionInvalid(
                "the arcs of a place with a capacity must take and put constant numbers of tokens"
            )
        total += amount
    return total
