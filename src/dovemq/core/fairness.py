"""Fairness among the message groups of a standard queue: which groups may be received from.

A group is closed while it is noisy (it holds too many leases), while it is at its concurrency, or
while it is at its rate. A receive must not take entries of closed groups, and must not look at them
again each time either. So it parks those that it meets: it moves them from the ready line into a
line of their group. When the group opens, its parked entries take part in their old order, because
both lines are in order of (T, I) and `next` merges them:

    ready line     x1  y1  x2  -  z1 ...
    parked         "noisy":  [n1, n2, n3]      closed: not looked at
                   "calm":   [c1, c2]          open again: c1 stands in the heap `_open`

An entry is parked at most once for each time that it becomes visible or is put back after a draw.
That makes the cost of closed groups constant for each message.

Invariants:
 - A group that is open and has parked entries stands in `_open`, with its first parked entry or one
   that was. `_touch` establishes this; whatever opens a group or takes its first parked entry calls
   it. `_first_open` replaces records that are out of date when it meets them.
 - `_parked` has exactly the groups with a parked line; the first entry of such a line may be dead,
   which `first` skips.
 - `_busy` has exactly the groups with NOISY_LEASES_MIN leases or more: only these can become noisy.
 - `groups` has every group that has messages; a group of one message that was never leased is that
   entry itself, which saves memory for queues with a group for each message.
"""

import heapq
from itertools import chain, islice
from typing import Final

from msgspec import Struct

from dovemq.core import choosing, limits
from dovemq.core.entry import Entry
from dovemq.core.pace import Pace
from dovemq.core.queue import QueueSettings
from dovemq.core.ready import Ready, place

_PARKED_MAX: Final = 10_000
"""The most entries that one receive parks, a few milliseconds of work; the next one goes on."""


class MessageGroup(Struct, eq=False, gc=False):
    """A group that has two or more messages, or had a lease.

    `listed` is the sequence of the parked entry by which the group stands in `_open`, or 0. It
    prevents a second record for the same entry; sequences begin at 1.
    """

    name: str
    count: int
    last_sent_ms: int
    leases: int = 0
    listed: int = 0
    parked: Ready | None = None

    def first(self) -> Entry | None:
        return self.parked.first() if self.parked else None


class Fairness:
    def __init__(self, settings: QueueSettings) -> None:
        self._concurrency = settings.group_concurrency
        self._rate = settings.group_rate_per_second
        self._now_ms = 0
        self._pace = Pace(self._rate)
        self.groups: dict[str, Entry | MessageGroup] = {}
        self._busy: dict[str, MessageGroup] = {}
        self._noisy: dict[str, MessageGroup] = {}
        self._parked: dict[str, MessageGroup] = {}
        self._open: list[tuple[int, int, MessageGroup]] = []

    def follow(self, settings: QueueSettings) -> None:
        self._concurrency = settings.group_concurrency
        self._rate = settings.group_rate_per_second
        self._pace.follow(self._rate)
        for group in list(self._parked.values()):
            self._touch(group)

    @property
    def noisy(self) -> bool:
        return bool(self._noisy)

    def joined(self, entry: Entry, name: str) -> None:
        held = self.groups.get(name)
        if held is None:
            self.groups[name] = entry
            self._pace.joined(name)
            return
        group = self._grouped(name)
        # All entries of a group share one text object.
        entry.group = group.name
        group.count += 1
        group.last_sent_ms = max(group.last_sent_ms, entry.sent_ms)

    def left(self, name: str) -> None:
        group = self.groups[name]
        if type(group) is MessageGroup:
            group.count -= 1
            if group.count:
                return
            # Its parked entries are dead. A record of it in `_open` is dropped when it is met.
            group.parked = None
            self._parked.pop(name, None)
            self._noisy.pop(name, None)
        del self.groups[name]

    def lease_began(self, name: str) -> None:
        group = self._grouped(name)
        group.leases += 1
        if group.leases == limits.NOISY_LEASES_MIN:
            self._busy[name] = group
        self._touch(group)

    def lease_ended(self, name: str) -> None:
        group = self._grouped(name)
        if group.leases == limits.NOISY_LEASES_MIN:
            del self._busy[name]
        group.leases -= 1
        self._touch(group)

    def pace(self, name: str) -> None:
        """Count a lease, however short, against the group's rate."""
        self._pace.note(name, self._now_ms)

    def judge(self, all_leases: int, now_ms: int) -> bool:
        """Start a receive: decide which groups are noisy. Returns whether any group may be closed.

        A noisy group stays noisy until it is empty, or until nothing was sent to it for long. If it
        became calm with its leases, it would be noisy again after the next few.
        """
        self._now_ms = now_ms
        for name in self._pace.forget(now_ms):
            if name in self._parked:
                self._touch(self._parked[name])
        if self._busy or self._noisy:
            self._judge_noise(all_leases, now_ms)
        limited = self._concurrency is not None or self._rate is not None
        return limited or bool(self._noisy or self._parked)

    def blocked(self, name: str | None) -> bool:
        """Whether a limit of the group allows no further message now."""
        if name is None:
            return False
        return self.at_its_concurrency(name) or self._pace.allowance(name) <= 0

    def at_its_concurrency(self, name: str) -> bool:
        if self._concurrency is None:
            return False
        group = self.groups[name]
        return type(group) is MessageGroup and group.leases >= self._concurrency

    def closed(self, name: str | None) -> bool:
        return name is not None and (name in self._noisy or self.blocked(name))

    def next(self, ready: Ready) -> Entry | None:
        """Remove and return the first entry of an open group; park closed ones before it."""
        for _ in range(_PARKED_MAX):
            entry, parked = ready.first(), self._first_open()
            if parked is not None and (entry is None or place(parked) < place(entry)):
                return self._unpark(parked)
            if entry is None:
                return None
            ready.pop()
            if not self.closed(entry.group):
                return entry
            self._park(entry)
        return None

    def next_noisy(self) -> Entry | None:
        """Remove and return the first entry of the noisy group that has the fewest leases."""
        candidates = [
            (group.leases, place(entry), entry)
            for group in self._noisy.values()
            if (entry := group.first()) is not None and not self.blocked(group.name)
        ]
        return self._unpark(min(candidates)[2]) if candidates else None

    def claimable(self, ready: Ready) -> bool:
        """Whether a receive could take something now; true too if that is not known."""
        entry = self.next(ready)
        if entry is not None:
            ready.put_back([entry])
            return True
        if ready.first() is not None:
            return True
        return any(
            group.first() is not None and not self.blocked(group.name)
            for group in self._noisy.values()
        )

    def reopens_ms(self) -> int | None:
        """The earliest time at which a group that is at its rate opens."""
        return self._pace.reopens_ms(self.groups)

    def near(self, count: int) -> list[Entry]:
        """Roughly the first parked entries."""
        parked = (group.parked for group in islice(self._parked.values(), count))
        near = (line.near(limits.RECEIVE_COUNT.most) for line in parked if line)
        return list(islice(chain.from_iterable(near), count))

    def compact(self) -> None:
        for group in self._parked.values():
            if group.parked:
                group.parked.compact()

    def _judge_noise(self, all_leases: int, now_ms: int) -> None:
        """Mark noisy groups. At most LEASED_MAX / NOISY_LEASES_MIN groups are busy."""
        calm_ms = now_ms - limits.NOISY_QUIET_MS
        for name, group in self._busy.items():
            if choosing.noisy(group.leases, all_leases):
                self._noisy[name] = group
        for group in [group for group in self._noisy.values() if group.last_sent_ms <= calm_ms]:
            del self._noisy[group.name]
            self._touch(group)

    def _grouped(self, name: str) -> MessageGroup:
        held = self.groups[name]
        if type(held) is MessageGroup:
            return held
        assert type(held) is Entry
        group = self.groups[name] = MessageGroup(held.group or name, 1, held.sent_ms)
        return group

    def _park(self, entry: Entry) -> None:
        assert entry.group is not None
        group = self._grouped(entry.group)
        if group.parked is None:
            group.parked = Ready()
            self._parked[group.name] = group
        group.parked.push(entry)
        self._touch(group)

    def _unpark(self, entry: Entry) -> Entry:
        assert entry.group is not None
        group = self._parked[entry.group]
        assert group.parked is not None
        group.parked.pop()
        self._touch(group)
        return entry

    def _touch(self, group: MessageGroup) -> None:
        """Enter the group's first parked entry into `_open`, if the group is open."""
        if group.parked is None:
            return
        head = group.parked.first()
        if head is None:
            group.parked = None
            del self._parked[group.name]
        elif group.listed != head.sequence and not self.closed(group.name):
            heapq.heappush(self._open, (head.visible_ms, head.sequence, group))
            group.listed = head.sequence

    def _first_open(self) -> Entry | None:
        """The first parked entry of all open groups; outdated records are dropped."""
        while self._open:
            visible_ms, sequence, group = self._open[0]
            head = group.first()
            if (
                head is not None
                and (head.visible_ms, head.sequence) == (visible_ms, sequence)
                and not self.closed(group.name)
            ):
                return head
            heapq.heappop(self._open)
            if group.listed == sequence:
                group.listed = 0
            self._touch(group)
        return None
