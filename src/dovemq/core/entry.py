"""An entry: the tuple (T, I) that bdqs keeps of one message, and what a receive needs besides.

It has no body: it takes 72 bytes for each queued message, wherever the body is.
"""

from typing import Final

from msgspec import Struct

DEAD: Final = -1
"""The receive count of a removed entry that still stands in a line, where it is skipped."""


class Entry(Struct, order=True, gc=False):
    """One message in an index, which owns and changes it. T is `visible_ms`, I is `sequence`.

    Entries are compared by `sequence`: it is the first field, and no two entries share it.
    `first_received_ms` is 0 as long as `receive_count` is. `units` is the message's size in the
    store, in units of `limits.STORED_UNIT_BYTES`.
    """

    sequence: int
    visible_ms: int
    sent_ms: int
    receive_count: int = 0
    first_received_ms: int = 0
    group: str | None = None
    units: int = 0


class Picked(Struct):
    """The entries that a receive took; they are already hidden and counted.

    `more` is true if further entries can be taken now. A receive that took nothing although there
    is more has reached its bound, and may be repeated at once. `next_due_ms` is the earliest time
    at which a hidden entry, or one of a group that must wait, may be taken.
    """

    taken: list[Entry]
    exhausted: list[Entry]
    more: bool
    next_due_ms: int | None
