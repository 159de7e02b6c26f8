"""The order of a FIFO queue: groups by their first message, none served while it has a lease.

Each group is a lane of its entries in order of sequence, leased ones included, so an ended lease
is back at its old place without being moved. A lane of one message is that entry itself, a short
one a list, a long one a deque. `_heads` has the first entry of each group that can be served; a
record of it may have been overtaken by events and is checked when it comes up.
"""

from collections import deque
from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

from dovemq.core import choosing, limits
from dovemq.core.commands import Ask
from dovemq.core.entry import Entry, Picked
from dovemq.core.heads import Heads
from dovemq.core.holdings import Holdings, undo_lease
from dovemq.core.pace import Pace
from dovemq.core.queue import QueueSettings

_LIST_LENGTH_MAX: Final = 64
"""Up to here a list is smaller than a deque, and taking its first item as fast."""
_DEAD_MIN: Final = 1_024
"""Fewer overtaken records than this are not worth a sweep."""

_Lane = Entry | list[Entry] | deque[Entry]


class FifoOrder:
    def __init__(self, settings: QueueSettings, holdings: Holdings) -> None:
        self._settings = settings
        self._holdings = holdings
        self._timetable = holdings.timetable
        self._lanes: dict[str, _Lane] = {}
        self._locks: dict[str, int] = {}
        """Live leases by group; a group without is not locked."""
        self._heads = Heads()
        self._pace = Pace(settings.group_rate_per_second)

    def follow(self, settings: QueueSettings) -> None:
        self._settings = settings
        self._reopen(self._pace.follow(settings.group_rate_per_second))

    def joined(self, entry: Entry, *, hidden: bool) -> None:
        group = _group_of(entry)
        lane = self._lanes.get(group)
        if lane is None:
            self._lanes[group] = entry
            self._pace.joined(group)
        else:
            entry.group = _first(lane).group
            self._lanes[group] = _lengthened(lane, entry)
        if hidden and entry.receive_count:
            self._lock(group)
        elif lane is None and not hidden:
            self._heads.push(entry)

    def shown(self, entry: Entry, *, leased: bool) -> None:
        if leased:
            self._unlock(_group_of(entry))
        elif self._leads(entry, entry.visible_ms):
            self._heads.push(entry)

    def left(self, entry: Entry, *, hidden: bool, leased: bool) -> None:
        group = _group_of(entry)
        lane = self._lanes[group]
        led = _first(lane) is entry
        shortened = _shortened(lane, entry)
        if shortened is None:
            del self._lanes[group]
        else:
            self._lanes[group] = shortened
        if leased:
            self._unlock(group)
        elif led and shortened is not None and group not in self._locks:
            self._heads.push(_first(shortened))
        self._trim()

    def restored(self, entry: Entry, visible_ms: int) -> None:
        undo_lease(entry, visible_ms)

    def pick(self, ask: Ask, now_ms: int) -> Picked:
        picked = Picked([], [], False, None)
        self._reopen(self._pace.forget(now_ms))
        if self._timetable.leased < limits.LEASED_MAX:
            self._serve(ask, now_ms, picked)
            picked.more = self._first_head(now_ms) is not None
        picked.next_due_ms = self._timetable.next_ms()
        reopens_ms = self._pace.reopens_ms(self._lanes)
        if reopens_ms is not None:
            picked.next_due_ms = min(reopens_ms, picked.next_due_ms or reopens_ms)
        return picked

    def ahead(self, count: int) -> list[int]:
        """The first of the groups that come next, and of those that are being served now."""
        groups = [_group_of(head) for head in islice(self._heads, count) if head.receive_count >= 0]
        groups += islice(self._locks, count)
        share = max(limits.RECEIVE_COUNT.most, count // max(1, len(groups)))
        lanes = (islice(_entries(self._lanes[group]), share) for group in groups)
        sequences = (entry.sequence for entry in chain.from_iterable(lanes))
        return list(islice(sequences, count))

    def _serve(self, ask: Ask, now_ms: int, picked: Picked) -> None:
        """Groups by their first message, as long a run of each as possible."""
        passing: list[str] = []
        for _ in range(limits.TUPLES_INSPECTED_MAX):
            head = self._first_head(now_ms)
            if head is None or len(picked.taken) >= ask.count_max:
                break
            self._heads.pop()
            group = _group_of(head)
            if not ask.lease_ms:
                # Leases of no length lock nothing, but one receive serves a group once.
                self._lock(group)
                passing.append(group)
            self._take_run(group, ask, now_ms, picked)
        for group in passing:
            self._unlock(group)

    def _take_run(self, group: str, ask: Ask, now_ms: int, picked: Picked) -> None:
        """Consecutive visible messages; an exhausted one must leave before the rest follows."""
        length_max = min(ask.count_max - len(picked.taken), self._allowance(group))
        for place, entry in enumerate(islice(_entries(self._lanes[group]), length_max)):
            spent = choosing.exhausted(entry.receive_count, ask.receives_max)
            if entry.visible_ms > now_ms or (spent and place):
                return
            (picked.exhausted if spent else picked.taken).append(entry)
            self._holdings.hide(entry, now_ms + ask.lease_ms, now_ms)
            if ask.lease_ms:
                self._lock(group)
            self._pace.note(group, now_ms)
            if spent:
                return

    def _allowance(self, group: str) -> int:
        concurrency = self._settings.group_concurrency
        paced = self._pace.allowance(group)
        return paced if concurrency is None else min(paced, concurrency)

    def _first_head(self, now_ms: int) -> Entry | None:
        """The first entry of the group to be served next; it stays where it is."""
        while (head := self._heads.first()) is not None:
            if self._leads(head, now_ms) and self._pace.allowance(_group_of(head)) > 0:
                return head
            self._heads.pop()
        return None

    def _leads(self, entry: Entry, now_ms: int) -> bool:
        """Whether it is the first of a group that is not locked, and visible."""
        if entry.receive_count < 0 or entry.visible_ms > now_ms:
            return False
        group = _group_of(entry)
        return group not in self._locks and _first(self._lanes[group]) is entry

    def _lock(self, group: str) -> None:
        self._locks[group] = self._locks.get(group, 0) + 1

    def _unlock(self, group: str) -> None:
        """End one lease of the group; the last one gives it back its old place."""
        leases = self._locks.pop(group) - 1
        if leases:
            self._locks[group] = leases
        elif group in self._lanes:
            self._heads.push(_first(self._lanes[group]))

    def _reopen(self, groups: Iterable[str]) -> None:
        for group in groups:
            if group in self._lanes and group not in self._locks:
                self._heads.push(_first(self._lanes[group]))

    def _trim(self) -> None:
        """Let overtaken records go when they are at the front, or when they are the most."""
        heads = self._heads
        while (head := heads.first()) is not None and head.receive_count < 0:
            heads.pop()
        if len(heads) > _DEAD_MIN and len(heads) > 2 * len(self._lanes):
            self._heads = Heads(_first(lane) for lane in self._lanes.values())


def _group_of(entry: Entry) -> str:
    assert entry.group is not None
    return entry.group


def _first(lane: _Lane) -> Entry:
    return lane if type(lane) is Entry else lane[0]  # type: ignore[index]


def _entries(lane: _Lane) -> Iterable[Entry]:
    return (lane,) if type(lane) is Entry else lane  # type: ignore[return-value]


def _lengthened(lane: _Lane, entry: Entry) -> _Lane:
    if isinstance(lane, Entry):
        return [lane, entry]
    lane.append(entry)
    if type(lane) is list and len(lane) > _LIST_LENGTH_MAX:
        return deque(lane)
    return lane


def _shortened(lane: _Lane, entry: Entry) -> _Lane | None:
    """The lane without one of its first entries: leases and retention only take those."""
    if isinstance(lane, Entry):
        return None
    if lane[0] is entry:
        del lane[0]
    else:
        lane.remove(entry)
    return lane if len(lane) > 1 else lane[0]
