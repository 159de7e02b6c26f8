"""The order of a standard queue: visible entries by (T, I), with the K hint and fairness.

A receive of n messages draws among the first max(K, n) entries (bdqs, §III.B). Queues without
message groups need no more than that, and spend no time on `core/fairness.py`.
"""

import random
from collections.abc import Callable
from typing import Final

from dovemq.core import choosing, limits
from dovemq.core.commands import Ask
from dovemq.core.entry import Entry, Picked
from dovemq.core.errors import LimitReached
from dovemq.core.fairness import Fairness
from dovemq.core.holdings import Holdings, undo_lease
from dovemq.core.queue import QueueSettings
from dovemq.core.ready import Ready

_DEAD_MIN: Final = 1_024
"""Lines with fewer dead entries than this are not compacted."""


class StandardOrder:
    def __init__(self, settings: QueueSettings, holdings: Holdings, rng: random.Random) -> None:
        self._settings = settings
        self._holdings = holdings
        self._timetable = holdings.timetable
        self._rng = rng
        self._ready = Ready()
        self._fairness = Fairness(settings)
        self._dead = 0

    def follow(self, settings: QueueSettings) -> None:
        self._settings = settings
        self._fairness.follow(settings)

    def make_way(self, entry: Entry) -> None:
        self._ready.make_way(entry)

    def joined(self, entry: Entry, *, hidden: bool) -> None:
        group = entry.group
        if group is not None:
            self._fairness.joined(entry, group)
        if not hidden:
            self._ready.push(entry)
        elif group is not None and entry.receive_count:
            self._fairness.lease_began(group)

    def shown(self, entry: Entry, *, leased: bool) -> None:
        self._ready.push(entry)
        if leased and entry.group is not None:
            self._fairness.lease_ended(entry.group)

    def left(self, entry: Entry, *, hidden: bool, leased: bool) -> None:
        group = entry.group
        if group is not None:
            if leased:
                self._fairness.lease_ended(group)
            self._fairness.left(group)
        if not hidden:
            self._count_dead()

    def restored(self, entry: Entry, visible_ms: int) -> None:
        # The entry stands in a line, but not at its old place: it dies there, and a copy goes on.
        successor = self._holdings.successor(entry)
        self._count_dead()
        undo_lease(successor, visible_ms)
        self._ready.push(successor)

    def renew(self, entry: Entry, until_ms: int, now_ms: int) -> bool:
        if until_ms <= now_ms:
            return True
        group = entry.group
        if group is not None and self._fairness.at_its_concurrency(group):
            return False
        # Lines are not searched: the entry dies where it stands, and a copy of it is hidden.
        successor = self._holdings.successor(entry)
        self._count_dead()
        successor.visible_ms = until_ms
        self._timetable.put(successor)
        if group is not None:
            self._fairness.lease_began(group)
        return True

    def pick(self, ask: Ask, now_ms: int) -> Picked:
        leased = self._timetable.leased
        if leased >= limits.LEASED_MAX:
            raise LimitReached("Too many messages of this queue are in flight.")
        if self._fairness.groups and self._fairness.judge(leased, now_ms):
            return self._pick_fairly(ask, now_ms)
        return self._pick_in_order(ask, now_ms)

    def ahead(self, count: int) -> list[int]:
        near = self._ready.near(count)
        near += self._fairness.near(count - len(near))
        return [entry.sequence for entry in near]

    def _pick_in_order(self, ask: Ask, now_ms: int) -> Picked:
        """Draw among all visible entries: no group has to wait."""
        ready, count, until_ms = self._ready, ask.count_max, now_ms + ask.lease_ms
        exhausted: list[Entry] = []
        order_hint = self._settings.order_hint
        size = count if order_hint == 1 else choosing.window_size(order_hint, count)
        if size == count and ask.receives_max is None:
            taken = ready.take(count)
        elif size > count and self._plain(size, ask.receives_max):
            taken = ready.draw(size, count, self._rng)
        else:
            taken = self._window(ready.pop, size, ask, now_ms, exhausted)
            if len(taken) > count:
                ready.put_back(taken)
                taken = ready.draw(len(taken), count, self._rng)
        hide = self._hide if self._fairness.groups else self._holdings.hide
        for entry in taken:
            hide(entry, until_ms, now_ms)
        if until_ms <= now_ms:
            self._show_again(taken)
        more = self._holdings.visible > 0
        return Picked(taken, exhausted, more, self._timetable.next_ms())

    def _pick_fairly(self, ask: Ask, now_ms: int) -> Picked:
        """Draw among the entries of open groups, then fill up from noisy ones.

        Each entry taken may bring its group to a limit, so the limits are checked again for each.
        """
        ready, fairness, until_ms = self._ready, self._fairness, now_ms + ask.lease_ms
        size = choosing.window_size(self._settings.order_hint, ask.count_max)
        taken: list[Entry] = []
        exhausted: list[Entry] = []
        left: list[Entry] = []
        window = self._window(lambda: fairness.next(ready), size, ask, now_ms, exhausted)
        chosen = set(choosing.choose(len(window), ask.count_max, self._rng))
        for position, entry in enumerate(window):
            if position in chosen and not fairness.blocked(entry.group):
                self._hide(entry, until_ms, now_ms)
                taken.append(entry)
            else:
                left.append(entry)
        ready.put_back(left)
        if len(taken) < ask.count_max and fairness.noisy:
            self._fill_up(ask, now_ms, taken, exhausted)
        if until_ms <= now_ms:
            self._show_again(taken)
        more = fairness.claimable(ready)
        due = (self._timetable.next_ms(), fairness.reopens_ms())
        next_due_ms = min((due_ms for due_ms in due if due_ms is not None), default=None)
        return Picked(taken, exhausted, more, next_due_ms)

    def _plain(self, size: int, receives_max: int | None) -> bool:
        """Whether all entries of the window may be drawn, so that none must be looked at."""
        if not self._dead and receives_max is None and not self._ready.late:
            return True
        return self._ready.plain(size, receives_max)

    def _window(
        self,
        pop: Callable[[], Entry | None],
        size: int,
        ask: Ask,
        now_ms: int,
        exhausted: list[Entry],
    ) -> list[Entry]:
        """The first entries that may be drawn; exhausted ones before them are leased as such."""
        receives_max = ask.receives_max
        window: list[Entry] = []
        for _ in range(limits.TUPLES_INSPECTED_MAX):
            entry = pop()
            if entry is None:
                break
            if receives_max is not None and entry.receive_count >= receives_max:
                lease_ms = choosing.lease_length_ms(ask.lease_ms, spent=True)
                self._hide(entry, now_ms + lease_ms, now_ms)
                exhausted.append(entry)
                continue
            window.append(entry)
            if len(window) == size:
                break
        return window

    def _fill_up(self, ask: Ask, now_ms: int, taken: list[Entry], exhausted: list[Entry]) -> None:
        """Take from noisy groups what the quiet ones left, fewest leases first."""
        fairness = self._fairness
        # Entries of noisy groups that still stand in the ready line are parked by `next`, so that
        # `next_noisy` finds them; those of quiet groups that a limit held back are put back.
        quiet: list[Entry] = []
        for _ in range(limits.TUPLES_INSPECTED_MAX):
            entry = fairness.next(self._ready)
            if entry is None:
                break
            quiet.append(entry)
        self._ready.put_back(quiet)
        for _ in range(limits.TUPLES_INSPECTED_MAX):
            entry = fairness.next_noisy()
            if entry is None:
                return
            spent = choosing.exhausted(entry.receive_count, ask.receives_max)
            (exhausted if spent else taken).append(entry)
            lease_ms = choosing.lease_length_ms(ask.lease_ms, spent=spent)
            self._hide(entry, now_ms + lease_ms, now_ms)
            if len(taken) == ask.count_max:
                return

    def _hide(self, entry: Entry, until_ms: int, now_ms: int) -> None:
        self._holdings.hide(entry, until_ms, now_ms)
        if entry.group is not None:
            # A lease of no length never ends, so it must not be counted as begun.
            if until_ms > now_ms:
                self._fairness.lease_began(entry.group)
            self._fairness.pace(entry.group)

    def _show_again(self, taken: list[Entry]) -> None:
        """Put entries with leases of no length back, after the draw: none is received twice."""
        for entry in taken:
            self._ready.push(entry)

    def _count_dead(self) -> None:
        """Dead entries leave the lines when they are first, or when they are the majority."""
        self._dead += 1 - self._ready.shed()
        if self._dead > _DEAD_MIN and self._dead > self._holdings.visible:
            self._ready.compact()
            self._fairness.compact()
            self._dead = 0
