"""Which tuples of an index in a database a receive takes: the pure part of bdqs §III.B.2.

An index in memory draws by `core/standard.py`. Here the first tuples were read from a database,
where other front ends change them meanwhile, so a draw decides about values and changes nothing.
"""

import random
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from dovemq.core import choosing

SPENT_MAX: Final = 20
"""Exhausted messages that one draw hands out to be moved, and expired ones that it removes."""


class IndexTuple(Struct, frozen=True):
    """A tuple (T, I) of the paper, with what a receive has to know about the message.

    `generation` counts the moves of the tuple: the tuple of the highest generation is the one that
    keeps the message from being lost, whatever the clocks of those who moved it say.
    """

    due_ms: int
    sequence: int
    generation: int
    receive_count: int
    first_received_ms: int
    sent_ms: int
    units: int

    @property
    def place(self) -> tuple[int, int]:
        return self.due_ms, self.sequence


class IndexDraw(Struct, frozen=True):
    """The wish of a receive. `literal` lets hidden tuples take part in the draw."""

    order_hint: int
    count: int
    receives_max: int | None
    retention_ms: int
    literal: bool = False

    @property
    def size(self) -> int:
        return choosing.window_size(self.order_hint, self.count)


class DrawnTuples(Struct, frozen=True):
    """`more` is true if visible tuples are left in the window."""

    taken: list[IndexTuple]
    exhausted: list[IndexTuple]
    expired: list[IndexTuple]
    more: bool


def draw(
    found: Sequence[IndexTuple], asked: IndexDraw, now_ms: int, rng: random.Random
) -> DrawnTuples:
    """Draw among the first tuples, which are in order of (T, I)."""
    window: list[IndexTuple] = []
    exhausted: list[IndexTuple] = []
    expired: list[IndexTuple] = []
    more = False
    for each in found:
        if len(window) == asked.size:
            more = more or each.due_ms <= now_ms
            break
        if each.sent_ms + asked.retention_ms <= now_ms:
            if len(expired) < SPENT_MAX:
                expired.append(each)
        elif each.due_ms > now_ms:
            if asked.literal:
                window.append(each)
        elif choosing.exhausted(each.receive_count, asked.receives_max):
            if len(exhausted) < SPENT_MAX:
                exhausted.append(each)
        else:
            window.append(each)
    chosen = [window[at] for at in choosing.choose(len(window), asked.count, rng)]
    taken = [each for each in chosen if each.due_ms <= now_ms]
    visible = sum(each.due_ms <= now_ms for each in window)
    return DrawnTuples(taken, exhausted, expired, more or visible > len(taken))


def leased(before: IndexTuple, lease_ms: int, now_ms: int) -> IndexTuple:
    """The tuple of a message that is received now: T' = now + timeout (bdqs §III.B.3)."""
    return _moved(before, now_ms + lease_ms, before.receive_count + 1, now_ms)


def extended(before: IndexTuple, lease_ms: int, now_ms: int) -> IndexTuple:
    """The tuple of a message whose lease ends at another time."""
    return _moved(before, now_ms + lease_ms, before.receive_count, now_ms)


def released(lease: IndexTuple, before: IndexTuple, earliest_ms: int) -> IndexTuple:
    """The tuple of a message whose lease is undone: as before, but not before `earliest_ms`."""
    return IndexTuple(
        max(before.due_ms, earliest_ms),
        lease.sequence,
        lease.generation + 1,
        before.receive_count,
        before.first_received_ms,
        lease.sent_ms,
        lease.units,
    )


def _moved(before: IndexTuple, due_ms: int, receive_count: int, now_ms: int) -> IndexTuple:
    return IndexTuple(
        due_ms,
        before.sequence,
        before.generation + 1,
        receive_count,
        before.first_received_ms or (now_ms if receive_count else 0),
        before.sent_ms,
        before.units,
    )
