"""The layout of a queue: which partitions it has, and how the layout changes.

Messages are sent to *active* partitions. A *draining* partition gets no new messages; what it holds
is received as before or moved to active ones, until it is empty and the layout forgets its number.
A number may be used again.
"""

from msgspec import Struct

from dovemq.core.errors import InvariantError
from dovemq.core.limits import PARTITIONS


class Layout(Struct, frozen=True):
    """Active and draining partitions in rising order.

    `highest` is the highest number that was ever in use: a front end that knows only an older
    layout may still send to one of the numbers up to it.
    """

    active: tuple[int, ...] = (0,)
    draining: tuple[int, ...] = ()
    highest: int = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """All partitions that may hold messages."""
        return (*self.active, *self.draining)

    @property
    def forgotten(self) -> tuple[int, ...]:
        """Numbers that were in use and are not any more."""
        known = set(self.numbers)
        return tuple(number for number in range(self.highest + 1) if number not in known)


class ControlMemory(Struct, frozen=True):
    """The state that one decision leaves to the next; it must outlive the process that decides.

    `last_number` is the number of the partition that was added last: numbers are given in turn, so
    that a removed partition's number is not used again soon.
    """

    marked: int | None = None
    inhibited_until_ms: int = 0
    last_number: int = 0

    def is_inhibited(self, now_ms: int) -> bool:
        return now_ms < self.inhibited_until_ms


def resized(layout: Layout, count: int) -> Layout:
    """The layout with `count` active partitions.

    Draining partitions become active again before new numbers are used; the highest numbers drain
    first.
    """
    active = list(layout.active)
    while len(active) > count:
        active.pop()
    spare = [number for number in layout.draining if number not in active]
    fresh = [number for number in range(PARTITIONS.most) if number not in layout.numbers]
    for number in (*spare, *fresh):
        if len(active) >= count:
            break
        active.append(number)
    return _layout(layout, set(active))


def with_active(layout: Layout, number: int) -> Layout:
    """The layout in which this partition is active."""
    return _layout(layout, {*layout.active, number})


def with_draining(layout: Layout, number: int) -> Layout:
    """The layout in which this partition drains. The last active one cannot."""
    active = {each for each in layout.active if each != number}
    return _layout(layout, active, extra=number)


def without(layout: Layout, number: int) -> Layout:
    """The layout that has forgotten a draining partition."""
    draining = tuple(each for each in layout.draining if each != number)
    return Layout(layout.active, draining, layout.highest)


def _layout(before: Layout, active: set[int], extra: int | None = None) -> Layout:
    if not active:
        raise InvariantError("A queue needs an active partition.")
    known = {*before.numbers, *active} | (set() if extra is None else {extra})
    draining = tuple(sorted(known - active))
    return Layout(tuple(sorted(active)), draining, max(before.highest, *known))
