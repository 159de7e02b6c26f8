"""Picks the messages of a receive, for the store in memory.

Plain lists, sorted and filtered again for each receive. `Receive` changes the rows that it takes
and nothing else. Every other store must take the same rows.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from dovemq.core import choosing, limits
from dovemq.core.commands import Ask, Visibility
from dovemq.core.errors import LimitReached
from dovemq.core.message import Message
from dovemq.core.queue import QueueSettings

_RATE_WINDOW_MS: Final = limits.SECOND_MS


class MemoryRow(Struct, eq=False):
    """A message and its state. `visible_ms` is T of the tuple (T, I) in the paper `bdqs`."""

    message: Message
    visible_ms: int
    receive_count: int = 0
    first_received_ms: int = 0
    adopted: bool = False
    before_lease: tuple[int, int, int] | None = None

    @property
    def sequence(self) -> int:
        return self.message.sequence

    @property
    def group(self) -> str | None:
        return self.message.group

    @property
    def place(self) -> tuple[int, int]:
        return self.visible_ms, self.message.sequence

    def visibility(self, now_ms: int) -> Visibility:
        if self.visible_ms <= now_ms:
            return Visibility.VISIBLE
        return Visibility.LEASED if self.receive_count else Visibility.DELAYED

    def visible(self, now_ms: int) -> bool:
        return self.visibility(now_ms) is Visibility.VISIBLE

    def leased(self, now_ms: int) -> bool:
        return self.visibility(now_ms) is Visibility.LEASED

    def lease(self, until_ms: int, now_ms: int) -> None:
        self.before_lease = (self.visible_ms, self.receive_count, self.first_received_ms)
        self.visible_ms = until_ms
        self.receive_count += 1
        self.first_received_ms = self.first_received_ms or now_ms

    def release(self) -> None:
        if self.before_lease:
            self.visible_ms, self.receive_count, self.first_received_ms = self.before_lease
            self.before_lease = None


class MemoryGroups:
    """State of message groups beyond their messages: sizes, noise, times of leases."""

    def __init__(self) -> None:
        self.noisy: set[str] = set()
        self._sizes: Counter[str] = Counter()
        self._last_sent_ms: dict[str, int] = {}
        self._lease_times: dict[str, list[int]] = {}

    def joined(self, group: str, sent_ms: int) -> None:
        self._sizes[group] += 1
        self._last_sent_ms[group] = max(sent_ms, self._last_sent_ms.get(group, 0))

    def left(self, group: str) -> None:
        self._sizes[group] -= 1
        if not self._sizes[group]:
            del self._sizes[group], self._last_sent_ms[group]
            self.noisy.discard(group)

    def judge(self, leases: Counter[str | None], now_ms: int) -> None:
        """Mark noisy groups. A group stays noisy until it is empty or got no message for long."""
        all_leases = leases.total()
        self.noisy.update(
            group
            for group, count in leases.items()
            if group is not None and choosing.noisy(count, all_leases)
        )
        calm_ms = now_ms - limits.NOISY_QUIET_MS
        self.noisy = {group for group in self.noisy if self._last_sent_ms[group] > calm_ms}

    def leased(self, group: str, now_ms: int) -> None:
        self._lease_times.setdefault(group, []).append(now_ms)

    def leases_lately(self, group: str, now_ms: int) -> list[int]:
        return [
            time for time in self._lease_times.get(group, ()) if time > now_ms - _RATE_WINDOW_MS
        ]

    def forget_old_leases(self, now_ms: int) -> None:
        recent = {group: self.leases_lately(group, now_ms) for group in self._lease_times}
        self._lease_times = {group: times for group, times in recent.items() if times}


class Receive:
    """One receive: the rows that it has taken, and the groups that must wait."""

    def __init__(
        self,
        rows: Iterable[MemoryRow],
        settings: QueueSettings,
        groups: MemoryGroups,
        ask: Ask,
        now_ms: int,
    ) -> None:
        self.taken: list[MemoryRow] = []
        self.exhausted: list[MemoryRow] = []
        self._rows = list(rows)
        self._settings = settings
        self._groups = groups
        self._ask = ask
        self._now_ms = now_ms
        self._leases = Counter(row.group for row in self._rows if row.leased(now_ms))

    def take_standard(self, rng: random.Random) -> None:
        """Choose among the first visible rows of quiet groups, then fill up from noisy ones."""
        if self._leases.total() >= limits.LEASED_MAX:
            raise LimitReached("Too many messages of this queue are in flight.")
        self._groups.judge(self._leases, self._now_ms)
        visible = sorted(self._visible(), key=lambda row: row.place)
        noisy = [row for row in visible if row.group in self._groups.noisy]
        window = self._window(row for row in visible if row.group not in self._groups.noisy)
        for position in choosing.choose(len(window), self._ask.count_max, rng):
            if not self._blocked(window[position]):
                self._take(window[position])
        self._fill_up(noisy)

    def take_fifo(self) -> None:
        """Take groups in the order of their first message, as many rows of each as possible."""
        if self._leases.total() >= limits.LEASED_MAX:
            return
        for rows in self._groups_in_order():
            count_left = self._ask.count_max - len(self.taken)
            if not count_left or len(self.exhausted) >= limits.TUPLES_INSPECTED_MAX:
                return
            if self._claimable(rows):
                self._take_run(rows[: min(count_left, self._allowance(rows[0].group))])

    def more(self) -> bool:
        if self._settings.fifo:
            return any(map(self._claimable, self._groups_in_order()))
        return any(not self._blocked(row) for row in self._visible())

    def next_due_ms(self) -> int | None:
        """When the next row becomes visible, or a group may go on that only its rate holds back."""
        due = [row.visible_ms for row in self._rows if row.visible_ms > self._now_ms]
        rate = self._settings.group_rate_per_second
        if rate is not None:
            for group in self._groups_with_room():
                lately = self._groups.leases_lately(group, self._now_ms)
                if len(lately) >= rate:
                    due.append(lately[-rate] + _RATE_WINDOW_MS)
        return min(due, default=None)

    def _groups_with_room(self) -> set[str]:
        """Groups that have a visible row and are below their limit of leases."""
        rows = [rows[0] for rows in self._groups_in_order()] if self._settings.fifo else self._rows
        leases_max = self._settings.group_concurrency
        return {
            row.group
            for row in rows
            if row.group is not None
            and row.visible(self._now_ms)
            and (leases_max is None or self._leases[row.group] < leases_max)
        }

    def _window(self, rows: Iterable[MemoryRow]) -> list[MemoryRow]:
        """The first rows that are not exhausted, to choose from. Exhausted ones are taken."""
        size = choosing.window_size(self._settings.order_hint, self._ask.count_max)
        open_rows = (row for row in rows if not self._blocked(row))
        window: list[MemoryRow] = []
        for row in itertools.islice(open_rows, limits.TUPLES_INSPECTED_MAX):
            if self._is_exhausted(row):
                self._take(row)
            else:
                window.append(row)
            if len(window) == size:
                break
        return window

    def _fill_up(self, noisy: list[MemoryRow]) -> None:
        """Take single rows, each from the noisy group with the fewest leases."""
        for _ in range(limits.TUPLES_INSPECTED_MAX):
            candidates = [row for row in noisy if not self._blocked(row)]
            if not candidates or len(self.taken) == self._ask.count_max:
                return
            row = min(candidates, key=lambda row: (self._leases[row.group], row.place))
            noisy.remove(row)
            self._take(row)

    def _take_run(self, rows: Sequence[MemoryRow]) -> None:
        """Take consecutive visible rows of a group; an exhausted one is taken alone."""
        for row in rows:
            exhausted = self._is_exhausted(row)
            if not row.visible(self._now_ms) or (exhausted and row is not rows[0]):
                return
            self._take(row)
            if exhausted:
                return

    def _take(self, row: MemoryRow) -> None:
        spent = self._is_exhausted(row)
        (self.exhausted if spent else self.taken).append(row)
        lease_ms = choosing.lease_length_ms(self._ask.lease_ms, spent=spent)
        row.lease(self._now_ms + lease_ms, self._now_ms)
        if row.leased(self._now_ms):
            self._leases[row.group] += 1
        if row.group is not None and self._settings.group_rate_per_second is not None:
            self._groups.leased(row.group, self._now_ms)

    def _visible(self) -> list[MemoryRow]:
        return [row for row in self._rows if row.visible(self._now_ms)]

    def _is_exhausted(self, row: MemoryRow) -> bool:
        return choosing.exhausted(row.receive_count, self._ask.receives_max)

    def _groups_in_order(self) -> list[list[MemoryRow]]:
        groups: dict[str | None, list[MemoryRow]] = {}
        for row in self._rows:
            groups.setdefault(row.group, []).append(row)
        return sorted(groups.values(), key=lambda rows: rows[0].place)

    def _claimable(self, rows: Sequence[MemoryRow]) -> bool:
        """Whether the first message of a FIFO group is visible and within the group's limits."""
        return rows[0].visible(self._now_ms) and not self._blocked(rows[0])

    def _blocked(self, row: MemoryRow) -> bool:
        return self._allowance(row.group) <= 0

    def _allowance(self, group: str | None) -> int:
        """The number of further messages of the group that its limits allow now."""
        allowance = self._ask.count_max
        if group is None:
            return allowance
        concurrency = self._settings.group_concurrency
        if concurrency is not None:
            allowance = min(allowance, concurrency - self._leases[group])
        rate = self._settings.group_rate_per_second
        if rate is not None:
            lately = self._groups.leases_lately(group, self._now_ms)
            allowance = min(allowance, rate - len(lately))
        return allowance
