"""The order of a FIFO queue: groups by the (T, I) of their first message.

Each group has a lane: its entries in order of sequence, hidden ones included. So the order within a
group never changes, and a hidden entry holds back those behind it:

    lanes   "a": [leased, visible, visible]     waits for its first entry
            "b": [visible, visible]             its first entry is in the ready line
            "c": visible                        a lane of one entry is the entry itself

Two invariants connect lanes and the ready line:
 - The ready line has the first entry of a lane if and only if that entry is visible and its group
   is not aside. (It may also have dead entries, and no others.)
 - A group is aside only if its first entry is visible and a limit of the group was reached. The end
   of a lease, the passing of time (`Pace`) or new settings bring it back.

Most groups have few messages, and an empty deque takes 760 bytes: hence the smaller forms.
"""

from collections import deque
from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

from dovemq.core import choosing, limits
from dovemq.core.commands import Ask
from dovemq.core.entry import Entry, Picked
from dovemq.core.holdings import Holdings, undo_lease
from dovemq.core.pace import Pace
from dovemq.core.queue import QueueSettings
from dovemq.core.ready import Ready

_LIST_LENGTH_MAX: Final = 64
"""Up to this length a list is smaller than a deque, and as fast to take the first item from."""
_DEAD_MIN: Final = 1_024
"""Ready lines with fewer dead entries than this are not compacted."""

_Lane = Entry | list[Entry] | deque[Entry]


class FifoOrder:
    def __init__(self, settings: QueueSettings, holdings: Holdings) -> None:
        self._settings = settings
        self._holdings = holdings
        self._timetable = holdings.timetable
        self._lanes: dict[str, _Lane] = {}
        self._leases: dict[str, int] = {}
        """The number of live leases of each group that has any."""
        self._ready = Ready()
        self._aside: set[str] = set()
        self._pace = Pace(settings.group_rate_per_second)
        self._dead = 0

    def follow(self, settings: QueueSettings) -> None:
        self._settings = settings
        self._pace.follow(settings.group_rate_per_second)
        for group in list(self._aside):
            self._reopen(group)

    def make_way(self, entry: Entry) -> None:
        self._ready.make_way(entry)

    def joined(self, entry: Entry, *, hidden: bool) -> None:
        group = _group_of(entry)
        lane = self._lanes.get(group)
        if lane is None:
            self._lanes[group] = entry
            self._pace.joined(group)
            if not hidden:
                self._ready.push(entry)
        else:
            entry.group = _first(lane).group
            self._lanes[group] = _lengthened(lane, entry)
        if hidden and entry.receive_count:
            self._lease_began(group)

    def shown(self, entry: Entry, *, leased: bool) -> None:
        group = _group_of(entry)
        if leased:
            self._lease_ended(group)
        if _first(self._lanes[group]) is entry:
            self._ready.push(entry)

    def left(self, entry: Entry, *, hidden: bool, leased: bool) -> None:
        group = _group_of(entry)
        lane = self._lanes[group]
        led = _first(lane) is entry
        shortened = _shortened(lane, entry)
        if led:
            self._aside.discard(group)
            self._count_dead()
        if shortened is None:
            del self._lanes[group]
        else:
            self._lanes[group] = shortened
            if led and not self._timetable.holds(_first(shortened)):
                self._ready.push(_first(shortened))
        if leased:
            self._lease_ended(group)

    def restored(self, entry: Entry, visible_ms: int) -> None:
        # The entry may stand in the ready line, but not at its old place: it dies there.
        successor = self._holdings.successor(entry)
        undo_lease(successor, visible_ms)
        group = _group_of(entry)
        lane = self._lanes[group] = _replaced(self._lanes[group], entry, successor)
        if _first(lane) is successor:
            self._aside.discard(group)
            self._count_dead()
            self._ready.push(successor)

    def renew(self, entry: Entry, until_ms: int, now_ms: int) -> bool:
        """Never: later messages of the group may have been received since."""
        return False

    def pick(self, ask: Ask, now_ms: int) -> Picked:
        picked = Picked([], [], False, None)
        for group in self._pace.forget(now_ms):
            self._reopen(group)
        if self._timetable.leased < limits.LEASED_MAX:
            self._serve(ask, now_ms, picked)
            picked.more = self._next_head() is not None
        picked.next_due_ms = self._timetable.next_ms()
        reopens_ms = self._pace.reopens_ms(self._lanes)
        if reopens_ms is not None:
            picked.next_due_ms = min(reopens_ms, picked.next_due_ms or reopens_ms)
        return picked

    def ahead(self, count: int) -> list[int]:
        """The first entries of the groups that are next, and of those that have leases now."""
        groups = [_group_of(head) for head in self._ready.near(count)]
        groups += islice(self._leases, count)
        share = max(limits.RECEIVE_COUNT.most, count // max(1, len(groups)))
        lanes = (islice(_entries(self._lanes[group]), share) for group in groups)
        sequences = (entry.sequence for entry in chain.from_iterable(lanes))
        return list(islice(sequences, count))

    def _serve(self, ask: Ask, now_ms: int, picked: Picked) -> None:
        """Take as long a run as possible of each group, in order of their first messages."""
        still_visible: list[Entry] = []
        for _ in range(limits.TUPLES_INSPECTED_MAX):
            head = self._next_head() if len(picked.taken) < ask.count_max else None
            if head is None:
                break
            self._ready.pop()
            self._take_run(_group_of(head), ask, now_ms, picked)
            if not self._timetable.holds(head):
                still_visible.append(head)
        # A lease of no length hides nothing: these heads go back only now, so that one receive
        # does not take the same messages twice.
        for head in still_visible:
            self._ready.push(head)

    def _take_run(self, group: str, ask: Ask, now_ms: int, picked: Picked) -> None:
        """Take consecutive visible messages. An exhausted one must leave before others follow."""
        length_max = min(ask.count_max - len(picked.taken), self._allowance(group))
        for place, entry in enumerate(islice(_entries(self._lanes[group]), length_max)):
            spent = choosing.exhausted(entry.receive_count, ask.receives_max)
            if self._timetable.holds(entry) or (spent and place):
                return
            (picked.exhausted if spent else picked.taken).append(entry)
            lease_ms = choosing.lease_length_ms(ask.lease_ms, spent=spent)
            self._holdings.hide(entry, now_ms + lease_ms, now_ms)
            if lease_ms:
                self._lease_began(group)
            self._pace.note(group, now_ms)
            if spent:
                return

    def _allowance(self, group: str) -> int:
        """The number of further messages of the group that its limits allow now."""
        concurrency = self._settings.group_concurrency
        paced = self._pace.allowance(group)
        if concurrency is None:
            return paced
        return min(paced, concurrency - self._leases.get(group, 0))

    def _next_head(self) -> Entry | None:
        """The first entry of the next group; groups that are at a limit are set aside."""
        while (head := self._ready.first()) is not None:
            group = _group_of(head)
            if self._allowance(group) > 0:
                return head
            self._ready.pop()
            self._aside.add(group)
        return None

    def _lease_began(self, group: str) -> None:
        self._leases[group] = self._leases.get(group, 0) + 1

    def _lease_ended(self, group: str) -> None:
        leases = self._leases.pop(group) - 1
        if leases:
            self._leases[group] = leases
        self._reopen(group)

    def _reopen(self, group: str) -> None:
        if group in self._aside:
            self._aside.discard(group)
            self._ready.push(_first(self._lanes[group]))

    def _count_dead(self) -> None:
        """Dead entries leave the ready line in their turn, or when they are the majority."""
        self._dead += 1
        if self._dead > _DEAD_MIN and self._dead > len(self._lanes):
            self._ready.compact()
            self._dead = 0


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
    """The lane without an entry near its front: only leased or old ones are removed."""
    if isinstance(lane, Entry):
        return None
    if lane[0] is entry:
        del lane[0]
    else:
        lane.remove(entry)
    return lane if len(lane) > 1 else lane[0]


def _replaced(lane: _Lane, entry: Entry, successor: Entry) -> _Lane:
    if isinstance(lane, Entry):
        return successor
    lane[lane.index(entry)] = successor
    return lane
