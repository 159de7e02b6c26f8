"""The index of one partition: it decides which messages a receive takes.

It is pure: it does no input or output, has no clock, and gets its random generator. It has entries
and no bodies. An entry is the tuple (T, I) of one message: T is the time from which the message is
visible, I its sequence. Each entry is either hidden, in the timetable, or visible, in the order:

              add: a message was sent, adopted or recovered
              |                                       |
              | T in the future                       | T reached
              v                                       v
    .- Timetable -----------.   T is reached   .- Order ------------------------------.
    | hidden entries by T   | ---------------> | visible entries by (T, I)            |
    |                       |                  |                                      |
    | leased  (count > 0)   |   lease, renew   | StandardOrder        FifoOrder       |
    | delayed (count = 0)   | <--------------- |   Ready                lanes         |
    |                       |                  |   Fairness, Pace       Ready, Pace   |
    '-----------------------'  extend 0,       '--------------------------------------'
      extend: another slot     release ------>     restore: an ended lease is undone

    .- Holdings ----------------------------------------------------------------------.
    | all entries, hidden or visible                                                  |
    |   Arrivals        in order of sequence: retention, the oldest, look-up          |
    |   leased once     by sequence: receipts find their entry here                   |
    |   visible before  T before the newest lease: what a release gives back          |
    '---------------------------------------------------------------------------------'

    settle, set_aside, drop, expire: the entry leaves all of them

    Ready     a deque in order of (T, I), and a heap of the few that came out of order. The first
              K entries of it are the window that a receive of a standard queue draws from.
    Fairness  the groups of a standard queue, with a parked line for each group that must wait.
    lanes     one line per FIFO group in order of sequence, hidden entries included; Ready then has
              only the first entry of each group.
    Pace      the leases of each group within the last second.

Entries are never searched for in a line. An entry that is removed from within one is marked as
dead, is skipped when its turn comes, and is swept when most of the line is dead.

Time never goes backwards. Every method first shows what has become visible, and drops what is
older than the retention period.
"""

import random
from collections.abc import Sequence
from typing import Protocol

from dovemq.core.commands import Ask, Counts, Extension, Settlement
from dovemq.core.entry import Entry, Picked
from dovemq.core.fifo import FifoOrder
from dovemq.core.holdings import Holdings, undo_lease
from dovemq.core.queue import QueueSettings
from dovemq.core.standard import StandardOrder


class Order(Protocol):
    """The order of visible entries. The index reports all that join, leave or are shown."""

    def follow(self, settings: QueueSettings) -> None: ...

    def make_way(self, entry: Entry) -> None:
        """Many entries join from now on, and this is the first of them that is visible."""

    def joined(self, entry: Entry, *, hidden: bool) -> None: ...

    def shown(self, entry: Entry, *, leased: bool) -> None:
        """The delay or the lease of the entry has ended."""

    def left(self, entry: Entry, *, hidden: bool, leased: bool) -> None:
        """The entry is dead; `hidden` and `leased` are its state before."""

    def restored(self, entry: Entry, visible_ms: int) -> None:
        """Undo a lease that has ended: the entry gets the place that it had with that T."""

    def renew(self, entry: Entry, until_ms: int, now_ms: int) -> bool:
        """Begin a lease that has ended again; False if the entry must not be hidden."""

    def pick(self, ask: Ask, now_ms: int) -> Picked: ...

    def ahead(self, count: int) -> list[int]: ...


class Index:
    def __init__(self, settings: QueueSettings, holdings: Holdings, order: Order) -> None:
        self._settings = settings
        self._holdings = holdings
        self._timetable = holdings.timetable
        self._order = order
        self.dropped = holdings.dropped
        """The sequences that `take_dropped` will return."""

    @property
    def settings(self) -> QueueSettings:
        return self._settings

    @settings.setter
    def settings(self, settings: QueueSettings) -> None:
        """Settings may be replaced at any time, except that `fifo` never changes."""
        self._settings = settings
        self._order.follow(settings)

    def add(self, entry: Entry) -> None:
        """Add a committed or recovered message. Sequences rise from one `add` to the next."""
        self._holdings.add(entry)
        hidden = entry.visible_ms > entry.sent_ms
        if hidden:
            self._timetable.put(entry)
        self._order.joined(entry, hidden=hidden)

    def add_recovered(self, entries: Sequence[Entry]) -> None:
        """Add the next messages of those that are recovered while others are handed out already.

        If the lease of one of those has ended, its place is behind most messages that are still to
        be added. It then gives way to them, and not all of them to it.
        """
        first = next((entry for entry in entries if entry.visible_ms <= entry.sent_ms), None)
        if first is not None:
            self._order.make_way(first)
        for entry in entries:
            self.add(entry)

    def lease(self, ask: Ask, now_ms: int) -> Picked:
        """Hide entries until now + lease and return them.

        A queue that has LEASED_MAX leases returns nothing; a standard queue raises LimitReached.
        """
        self._reach(now_ms)
        if self._settings.delivery_paused:
            return Picked([], [], False, None)
        return self._order.pick(ask, now_ms)

    def settle(
        self, sequence: int, receive_count: int, now_ms: int, *, forced: bool = False
    ) -> Settlement:
        """Remove a message. A FIFO queue needs the receipt of a live lease, unless `forced`."""
        self._reach(now_ms)
        entry = self._holdings.find(sequence)
        if entry is None:
            return Settlement.GONE
        if (
            self._settings.fifo
            and not forced
            and (entry.receive_count != receive_count or entry.visible_ms <= now_ms)
        ):
            return Settlement.EXPIRED
        self._remove(entry)
        return Settlement.SETTLED

    def set_aside(self, sequence: int) -> None:
        """Remove a message that cannot be delivered, even if it is leased."""
        entry = self._holdings.find(sequence)
        if entry is not None:
            self._remove(entry)

    def extend(self, sequence: int, receive_count: int, until_ms: int, now_ms: int) -> Extension:
        """Change the end of a lease; `Partition.extend` has the rules for ended leases.

        Another `Entry` may stand for the message afterwards: `get` returns it.
        """
        self._reach(now_ms)
        entry = self._holdings.find(sequence)
        if entry is None:
            return Extension.GONE
        if receive_count < entry.receive_count and until_ms <= now_ms and not self._settings.fifo:
            return Extension.EXTENDED
        if entry.visible_ms <= now_ms or not entry.receive_count:
            newest = entry.receive_count == receive_count > 0
            if newest and self._order.renew(entry, until_ms, now_ms):
                return Extension.EXTENDED
            return Extension.NOT_LEASED
        if entry.receive_count != receive_count:
            return Extension.STALE
        self._timetable.remove(entry)
        entry.visible_ms = until_ms
        if until_ms > now_ms:
            self._timetable.put(entry)
        else:
            self._holdings.shown(entry)
            self._order.shown(entry, leased=True)
        return Extension.EXTENDED

    def release(self, sequence: int, receive_count: int) -> bool:
        """Undo the newest lease, if this is it: the entry gets its old T, count and place.

        Another `Entry` may stand for the message afterwards: `get` returns it.
        """
        entry, visible_ms = self._holdings.to_release(sequence, receive_count)
        if entry is None:
            return False
        self._holdings.shown(entry)
        if self._timetable.remove(entry):
            undo_lease(entry, visible_ms)
            self._order.shown(entry, leased=True)
        else:
            self._order.restored(entry, visible_ms)
        return True

    def get(self, sequence: int) -> Entry | None:
        """The entry, if it was leased at least once."""
        return self._holdings.get(sequence)

    def find(self, sequence: int) -> Entry | None:
        """The entry, leased before or not. Slower than `get` for one that never was."""
        return self._holdings.find(sequence)

    def after(self, sequence: int, count_max: int) -> list[Entry]:
        """The next entries after that sequence, in order of sequence."""
        return self._holdings.after(sequence, count_max)

    def entries(self) -> list[Entry]:
        """All entries in order of sequence. Some may be dead; `find` then knows the successor."""
        return self._holdings.entries()

    @property
    def count(self) -> int:
        """The number of messages, hidden or visible."""
        return self._holdings.count

    def counts(self, now_ms: int) -> Counts:
        self._reach(now_ms)
        return self._holdings.counts(now_ms)

    def ahead(self, count: int) -> list[int]:
        """A guess at the sequences that are leased next."""
        return self._order.ahead(count)

    def expire(self, now_ms: int) -> list[int]:
        """Remove what is older than the retention period; returns what `take_dropped` does."""
        self._reach(now_ms)
        return self._holdings.take_dropped()

    def take_dropped(self) -> list[int]:
        """The sequences that retention removed since the last call; each is returned once."""
        return self._holdings.take_dropped()

    def drop(self, sent_before_ms: int, count_max: int) -> list[int]:
        return self._holdings.drop(sent_before_ms, count_max, self._remove)

    def _reach(self, now_ms: int) -> None:
        """Show entries whose delay or lease has ended, and drop those past their retention."""
        if self._timetable.first_ms <= now_ms:
            for entry in self._timetable.due(now_ms):
                self._holdings.shown(entry)
                self._order.shown(entry, leased=entry.receive_count > 0)
        outlived_ms = now_ms - self._settings.retention_ms
        if self._holdings.sent_ms_min <= outlived_ms:
            self._holdings.expire(outlived_ms + 1, self._remove)

    def _remove(self, entry: Entry) -> None:
        hidden = self._timetable.remove(entry)
        leased = hidden and entry.receive_count > 0
        self._holdings.remove(entry)
        self._order.left(entry, hidden=hidden, leased=leased)


def index_for(settings: QueueSettings, rng: random.Random) -> Index:
    holdings = Holdings()
    if settings.fifo:
        return Index(settings, holdings, FifoOrder(settings, holdings))
    return Index(settings, holdings, StandardOrder(settings, holdings, rng))
