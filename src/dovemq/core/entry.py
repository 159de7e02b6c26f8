"""An entry: the paper's tuple (T, I) of one message, with what a receive needs beside it.

It owns no body: 72 bytes for each queued message, wherever the body is.
"""

from typing import Final

from msgspec import Struct

DEAD: Final = -1
"""The receive count of an entry that was removed and still stands in a line, to be passed over."""


class Entry(Struct, order=True, gc=False):
    """Mutable, and owned by one index. T is `visible_ms`, I is `sequence`.

    Compared by `sequence`, which comes first and is never shared. `first_received_ms` is 0 as
    long as `receive_count` is. `units` is the message's size in the store, in units of
    `limits.STORED_UNIT_BYTES`.
    """

    sequence: int
    visible_ms: int
    sent_ms: int
    receive_count: int = 0
    first_received_ms: int = 0
    group: str | None = None
    units: int = 0


class Picked(Struct):
    """What a receive took: entries that are already hidden and counted.

    `more`: further entries are claimable now; a receive that took nothing although there is more
    has reached its bound and may be repeated at once. `next_due_ms`: the earliest time at which a
    hidden entry, or one of a group that must wait, may become claimable.
    """

    taken: list[Entry]
    exhausted: list[Entry]
    more: bool
    next_due_ms: int | None
