"""The holdings of a partition: every entry, hidden or visible, and the changes that a lease makes.

The order of visible entries is not known here. Entries are found by their sequence in a dict from
their first lease on: before that there is no receipt of them. The exception is a lease that a crash
undid, whose receipt is still around; such an entry is found in the arrivals, by bisection.

`_visible_before` has the T that each leased entry had before its newest lease, for `release`. It is
kept after the lease has ended, because the response may turn out to be undeliverable only then.
"""

import math
from collections.abc import Callable
from typing import Final

from dovemq.core import limits
from dovemq.core.arrivals import Arrivals
from dovemq.core.commands import Counts
from dovemq.core.entry import Entry
from dovemq.core.timetable import Timetable

_UNITS_SHARED: Final = 256
"""Python shares the int objects up to this number; sharing larger ones saves 32 bytes each."""


class Holdings:
    __slots__ = (
        "_arrivals",
        "_leased_once",
        "_shared_units",
        "_visible_before",
        "dropped",
        "sent_ms_min",
        "timetable",
        "units",
    )

    def __init__(self) -> None:
        self.timetable = Timetable()
        self._arrivals = Arrivals()
        self._leased_once: dict[int, Entry] = {}
        self._visible_before: dict[int, int] = {}
        self.dropped: list[int] = []
        """Sequences that retention removed and `take_dropped` has not returned yet."""
        self.sent_ms_min: float = math.inf
        """No entry was sent before this time."""
        self.units = 0
        """The size of all entries together in the store."""
        self._shared_units: dict[int, int] = {}

    @property
    def visible(self) -> int:
        return self._arrivals.count - self.timetable.leased - self.timetable.delayed

    def add(self, entry: Entry) -> None:
        self._arrivals.add(entry)
        units = entry.units
        self.units += units
        if units > _UNITS_SHARED:
            entry.units = self._shared_units.setdefault(units, units)
        if entry.sent_ms < self.sent_ms_min:
            self.sent_ms_min = entry.sent_ms
        if entry.receive_count:
            self._leased_once[entry.sequence] = entry

    def get(self, sequence: int) -> Entry | None:
        """The entry, if it was leased at least once."""
        return self._leased_once.get(sequence)

    def find(self, sequence: int) -> Entry | None:
        return self._leased_once.get(sequence) or self._arrivals.find(sequence)

    def after(self, sequence: int, count_max: int) -> list[Entry]:
        return self._arrivals.after(sequence, count_max)

    def entries(self) -> list[Entry]:
        return self._arrivals.entries()

    @property
    def count(self) -> int:
        return self._arrivals.count

    def hide(self, entry: Entry, until_ms: int, now_ms: int) -> None:
        """Begin a lease. One that ends at once hides nothing: the caller puts the entry back."""
        sequence = entry.sequence
        self._visible_before[sequence] = entry.visible_ms
        entry.visible_ms = until_ms
        entry.receive_count += 1
        if not entry.first_received_ms:
            entry.first_received_ms = now_ms
        self._leased_once[sequence] = entry
        if until_ms > now_ms:
            self.timetable.put(entry)

    def to_release(self, sequence: int, receive_count: int) -> tuple[Entry | None, int]:
        """The entry whose newest lease this is, and its T before; a second call finds nothing."""
        entry = self._leased_once.get(sequence)
        if entry is None or entry.receive_count != receive_count:
            return None, 0
        visible_ms = self._visible_before.pop(sequence, None)
        return (None, 0) if visible_ms is None else (entry, visible_ms)

    def successor(self, entry: Entry) -> Entry:
        """Replace the entry by a copy; the entry itself is dead where it stands in a line."""
        copy = Entry(
            entry.sequence,
            entry.visible_ms,
            entry.sent_ms,
            entry.receive_count,
            entry.first_received_ms,
            entry.group,
            entry.units,
        )
        self._leased_once[entry.sequence] = copy
        self._arrivals.replace(entry, copy)
        return copy

    def remove(self, entry: Entry) -> None:
        """Remove an entry that is not in the timetable."""
        sequence = entry.sequence
        if self._leased_once.pop(sequence, None) is not None:
            self._visible_before.pop(sequence, None)
        self.units -= entry.units
        self._arrivals.remove(entry)

    def shown(self, entry: Entry) -> None:
        """A hidden entry is visible again."""
        self._arrivals.shown(entry)

    def expire(self, sent_before_ms: int, remove: Callable[[Entry], None]) -> None:
        while (entry := self._arrivals.sent_before(sent_before_ms)) is not None:
            self.dropped.append(entry.sequence)
            remove(entry)
        self.sent_ms_min = self._arrivals.sent_ms_min()

    def drop(
        self, sent_before_ms: int, count_max: int, remove: Callable[[Entry], None]
    ) -> list[int]:
        dropped: list[int] = []
        while len(dropped) < count_max:
            entry = self._arrivals.sent_before(sent_before_ms)
            if entry is None:
                break
            dropped.append(entry.sequence)
            remove(entry)
        return dropped

    def take_dropped(self) -> list[int]:
        dropped = self.dropped.copy()
        self.dropped.clear()
        return dropped

    def counts(self, now_ms: int) -> Counts:
        visible = self.visible
        oldest_ms = self._arrivals.oldest_visible_ms(now_ms) if visible else None
        return Counts(
            visible,
            self.timetable.leased,
            self.timetable.delayed,
            oldest_ms,
            self.units * limits.STORED_UNIT_BYTES,
        )


def undo_lease(entry: Entry, visible_ms: int) -> None:
    """Restore the state before a lease; the caller has taken the entry from its place."""
    entry.visible_ms = visible_ms
    entry.receive_count -= 1
    if not entry.receive_count:
        entry.first_received_ms = 0
