"""One picture of all queues for any number of viewers: counts, rates, ages, alerts, histories.

A snapshot is made when somebody asks and the last one is a second old, whatever the number of
viewers. Making one reads the counters of each queue and no message, and keeps the row of a queue
that has not changed. If it takes long, snapshots are made less often, so that they use a small part
of the server.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.commands import Counts
from dovemq.core.errors import QueueMissing, UnavailableError
from dovemq.core.history import HistoryPoint
from dovemq.core.queue import Queue, QueueKey
from dovemq.server.queue_rows import (
    AT_REST,
    CONSUMER_MS,
    QueueRow,
    alerts_of,
    dead_letter_queues,
    point_of,
    rates_of,
    row_of,
    total_of,
)
from dovemq.server.sharing import SharedRead
from dovemq.service import Service
from dovemq.telemetry.meter import QueueTally

POINT_MS: Final = 5_000
POINTS_MAX: Final = 180
"""Points of a history: a quarter of an hour."""
WATCHED_MS: Final = limits.HOUR_MS
"""Points are added for so long after the last viewer has left."""

TallyOf = Callable[[Queue], QueueTally]


class Snapshot:
    """The rows of all queues. Orders of them are made once, for all viewers."""

    def __init__(self, at_ms: int, rows: Mapping[QueueKey, QueueRow], total: HistoryPoint) -> None:
        self.at_ms = at_ms
        self.rows = rows
        self.total = total
        self._orders: dict[tuple[str, bool], list[QueueRow]] = {}

    def ordered(
        self, name: str, key: Callable[[QueueRow], Any], *, downwards: bool = False
    ) -> list[QueueRow]:
        """All rows by this key, which has that name; those that are equal by their names."""
        found = self._orders.get((name, downwards))
        if found is None:
            rows = sorted(self.rows.values(), key=lambda row: (row.name, row.account))
            found = self._orders[name, downwards] = sorted(rows, key=key, reverse=downwards)
        return found


class _Seen(Struct):
    """A queue at the last snapshot."""

    queue: Queue
    counts: Counts
    tally: QueueTally
    row: QueueRow
    points: deque[HistoryPoint]


class Snapshots:
    """`tally_of` returns the counters of a queue at this front end.

    Unless it is `alone`, a queue without consumers here may have some at another front end.
    """

    def __init__(
        self,
        service: Service,
        tally_of: TallyOf,
        timer_ns: Callable[[], int] = time.perf_counter_ns,
        *,
        alone: bool = True,
    ) -> None:
        self._service = service
        self._tally_of = tally_of
        self._alone = alone
        self._shared = SharedRead(self._make, timer_ns)
        self._last_ms: int | None = None
        self._seen: dict[int, _Seen] = {}
        self._totals: deque[HistoryPoint] = deque(maxlen=POINTS_MAX)
        self._asked_ms = 0
        self._watch: asyncio.Task[None] | None = None
        self.made = 0

    async def current(self) -> Snapshot:
        """The shared snapshot; a new one if the last is too old."""
        now_ms = self._asked_ms = self._service.clock.now_ms()
        if self._watch is None or self._watch.done():
            self._watch = asyncio.get_running_loop().create_task(self._keep_points())
        return await self._shared.current(now_ms)

    async def history(self, queue: Queue) -> list[HistoryPoint]:
        await self.current()
        seen = self._seen.get(queue.number)
        return list(seen.points) if seen else []

    @property
    def totals(self) -> list[HistoryPoint]:
        return list(self._totals)

    async def _keep_points(self) -> None:
        """Go on for a while without viewers, so that one who comes back finds no gap."""
        while self._service.clock.now_ms() - self._asked_ms < WATCHED_MS:
            await asyncio.sleep(POINT_MS / 1_000)
            with contextlib.suppress(UnavailableError):
                await self._shared.current(self._service.clock.now_ms())

    async def _make(self, now_ms: int) -> Snapshot:
        queues = self._service.queues
        counted: list[tuple[Queue, Counts]] = []
        async for queue in queues.each():
            with contextlib.suppress(QueueMissing):
                # It was removed meanwhile.
                counted.append((queue, await queues.counts(queue)))
        dead_letters = dead_letter_queues(queue for queue, _ in counted)
        passed_ms = 0 if self._last_ms is None else now_ms - self._last_ms
        seen: dict[int, _Seen] = {}
        rows: dict[QueueKey, QueueRow] = {}
        for queue, counts in counted:
            before = self._seen.get(queue.number)
            text = dead_letters.get(queue.key)
            known = seen[queue.number] = self._look(queue, counts, before, text, passed_ms, now_ms)
            rows[queue.key] = known.row
            if _due(known.points, now_ms):
                known.points.append(point_of(known.row, now_ms))
        self._seen = seen
        total = total_of(rows.values(), now_ms)
        if _due(self._totals, now_ms):
            self._totals.append(total)
        self._last_ms = now_ms
        self.made += 1
        return Snapshot(now_ms, rows, total)

    def _look(
        self,
        queue: Queue,
        counts: Counts,
        before: _Seen | None,
        dead_letters: str | None,
        passed_ms: int,
        now_ms: int,
    ) -> _Seen:
        tally = self._tally_of(queue)
        rates, points = AT_REST, before.points if before else deque(maxlen=POINTS_MAX)
        if before is not None and before.tally == tally:
            tally = before.tally
        else:
            tally = msgspec.structs.replace(tally)
            rates = rates_of(tally, before.tally, passed_ms) if before else AT_REST
        consumers = self._consumers(queue, now_ms)
        age_ms = 0 if counts.oldest_ms is None else now_ms - counts.oldest_ms
        alerts = tuple(
            alerts_of(queue, counts, consumers, age_ms, points, dead_letters, alone=self._alone)
        )
        is_dead = dead_letters is not None
        if before is not None and before.tally is tally and before.queue is queue:
            row = before.row
            shown = (row.consumers, row.rates, row.alerts, row.dead_letters)
            if before.counts == counts and shown == (consumers, rates, alerts, is_dead):
                return before
        row = row_of(queue, counts, consumers, rates, alerts, dead_letters=is_dead)
        return _Seen(queue, counts, tally, row, points)

    def _consumers(self, queue: Queue, now_ms: int) -> int:
        received = self._service.clients.consumers(queue.key, now_ms - CONSUMER_MS)
        return max(received, self._service.polls.parked_at(queue.number))


def _due(points: deque[HistoryPoint], now_ms: int) -> bool:
    return not points or now_ms - points[-1].at_ms >= POINT_MS
