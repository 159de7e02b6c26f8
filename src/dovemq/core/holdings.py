"""The holdings of a partition: every entry in it, wherever it stands, and what leases change.

The order in which visible entries are handed out is not known here. An entry is looked up by its
sequence as soon as it was leased once: nobody holds a receipt before that, except for leases that
a crash forgot, and those are found in the arrivals.
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
"""Up to here Python has one int object for equal numbers; beyond, 32 bytes each are saved."""


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
        """What outlived the retention period and was not taken yet."""
        self.sent_ms_min: float = math.inf
        """Nothing here was sent before then."""
        self.units = 0
        """What all entries together weigh in the store."""
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

    def hide(self, entry: Entry, until_ms: int, now_ms: int) -> None:
        """Begin a lease. One that ends at once hides nothing: the entry stays out of the lines."""
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
        """The entry whose newest lease this is, and T before that; to be asked once."""
        entry = self._leased_once.get(sequence)
        if entry is None or entry.receive_count != receive_count:
            return None, 0
        visible_ms = self._visible_before.pop(sequence, None)
        return (None, 0) if visible_ms is None else (entry, visible_ms)

    def successor(self, entry: Entry) -> Entry:
        """A copy that takes the entry's part; the entry itself dies where it stands in a line."""
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
        """Forget an entry that is no longer in the timetable."""
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

    def clear(self, remove: Callable[[Entry], None]) -> list[int]:
        dropped = [entry.sequence for entry in self._arrivals]
        for entry in list(self._arrivals):
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
    """Give back the state before a lease; the caller has taken the entry out of its place."""
    entry.visible_ms = visible_ms
    entry.receive_count -= 1
    if not entry.receive_count:
        entry.first_received_ms = 0
