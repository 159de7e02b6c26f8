"""The index of one partition: which messages a receive takes, and when the others are due.

Pure: no input or output, no clock, and the random generator is passed in. It holds no bodies. An
index is the holdings, which know every entry and the time until which it is hidden, and an order
in which visible entries are handed out. Time never goes backwards; what outlived the retention
period is gone before anything else is looked at.
"""

import random
from typing import Protocol

from dovemq.core.commands import Ask, Counts, Extension, Settlement
from dovemq.core.entry import Entry, Picked
from dovemq.core.fifo import FifoOrder
from dovemq.core.holdings import Holdings, undo_lease
from dovemq.core.queue import QueueSettings
from dovemq.core.standard import StandardOrder


class Order(Protocol):
    """Which visible entries come first. It is told of every entry that comes, goes or is shown."""

    def follow(self, settings: QueueSettings) -> None: ...

    def joined(self, entry: Entry, *, hidden: bool) -> None: ...

    def shown(self, entry: Entry, *, leased: bool) -> None:
        """A delay or a lease of the entry is over."""
        ...

    def left(self, entry: Entry, *, hidden: bool, leased: bool) -> None:
        """The entry is dead; `hidden` and `leased` say what it was before."""
        ...

    def restored(self, entry: Entry, visible_ms: int) -> None:
        """A lease that had ended is undone: the entry gets its old place, as of that T."""
        ...

    def renew(self, entry: Entry, until_ms: int, now_ms: int) -> bool:
        """Let a lease that has ended begin again, if the entry may be hidden."""
        ...

    def pick(self, ask: Ask, now_ms: int) -> Picked: ...

    def ahead(self, count: int) -> list[int]: ...


class Index:
    def __init__(self, settings: QueueSettings, holdings: Holdings, order: Order) -> None:
        self._settings = settings
        self._holdings = holdings
        self._timetable = holdings.timetable
        self._order = order
        self.dropped = holdings.dropped
        """Not empty when there is something for `take_dropped`."""

    @property
    def settings(self) -> QueueSettings:
        return self._settings

    @settings.setter
    def settings(self, settings: QueueSettings) -> None:
        """May be replaced at any time; only FIFO-ness never changes."""
        self._settings = settings
        self._order.follow(settings)

    def add(self, entry: Entry) -> None:
        """A committed or recovered message. Sequences rise from one `add` to the next."""
        self._holdings.add(entry)
        hidden = entry.visible_ms > entry.sent_ms
        if hidden:
            self._timetable.put(entry)
        self._order.joined(entry, hidden=hidden)

    def lease(self, ask: Ask, now_ms: int) -> Picked:
        """Hide entries until now + lease.

        A queue with LEASED_MAX leases hands nothing out; a standard one raises LimitReached.
        """
        self._reach(now_ms)
        if self._settings.delivery_paused:
            return Picked([], [], False, None)
        return self._order.pick(ask, now_ms)

    def settle(self, sequence: int, receive_count: int, now_ms: int) -> Settlement:
        """Standard: any receipt of the message will do. FIFO: only that of a live lease."""
        self._reach(now_ms)
        entry = self._holdings.find(sequence)
        if entry is None:
            return Settlement.GONE
        if self._settings.fifo and (
            entry.receive_count != receive_count or entry.visible_ms <= now_ms
        ):
            return Settlement.EXPIRED
        self._remove(entry)
        return Settlement.SETTLED

    def set_aside(self, sequence: int) -> None:
        """Remove a message that cannot be handed out, whoever holds it."""
        entry = self._holdings.find(sequence)
        if entry is not None:
            self._remove(entry)

    def extend(self, sequence: int, receive_count: int, until_ms: int, now_ms: int) -> Extension:
        """Change the end of a lease; see `Partition.extend` for leases that have ended.

        The message may be another `Entry` afterwards: `get` has it.
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
        """Undo the newest lease, if this is it: old T, old count, old place.

        The message may be another `Entry` afterwards: `get` has it.
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

    def counts(self, now_ms: int) -> Counts:
        self._reach(now_ms)
        return self._holdings.counts(now_ms)

    def ahead(self, count: int) -> list[int]:
        """Sequences that are likely to be leased next: a guess."""
        return self._order.ahead(count)

    def expire(self, now_ms: int) -> list[int]:
        """Remove what outlived the retention period; answers as `take_dropped` does."""
        self._reach(now_ms)
        return self._holdings.take_dropped()

    def take_dropped(self) -> list[int]:
        """What outlived the retention period since this was last asked; each sequence once."""
        return self._holdings.take_dropped()

    def drop(self, sent_before_ms: int, count_max: int) -> list[int]:
        return self._holdings.drop(sent_before_ms, count_max, self._remove)

    def clear(self) -> list[int]:
        return self._holdings.clear(self._remove)

    def _reach(self, now_ms: int) -> None:
        """What the passing of time brings: ended delays and leases, and the retention period."""
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
