"""One picture of all queues for any number of viewers: counts, rates, ages, alerts, histories.

A snapshot is made when somebody asks and the last one is a second old, whatever the number of
viewers. Making one reads the counters of each queue and no message. If that takes long, snapshots
are made less often, so that they use a small part of the server.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.commands import Counts
from dovemq.core.errors import QueueMissing, UnavailableError
from dovemq.core.history import HistoryPoint
from dovemq.core.queue import Queue, QueueKey
from dovemq.service import Service
from dovemq.telemetry.meter import QueueTally

INTERVAL_MS: Final = 1_000
REST_FACTOR: Final = 20
"""The pause between two snapshots is at least this many times what one has taken."""
POINT_MS: Final = 5_000
POINTS_MAX: Final = 180
"""Points of a history: a quarter of an hour."""
WATCHED_MS: Final = limits.HOUR_MS
"""Points are added for so long after the last viewer has left."""
CONSUMER_MS: Final = limits.MINUTE_MS
"""A queue whose messages wait this long without a receive has no consumers."""
GROWING_POINTS: Final = 6
GROWING_AGE_MS: Final = limits.MINUTE_MS
NEAR_SHARE: Final = 0.9
"""The share of a limit from which on it is near."""

TallyOf = Callable[[Queue], QueueTally]


class QueueRates(Struct, frozen=True):
    """Messages per second at this front end; `misses` are receives that found nothing."""

    sent: float = 0.0
    received: float = 0.0
    settled: float = 0.0
    redriven: float = 0.0
    misses: float = 0.0


class QueueAlert(Struct, frozen=True):
    """`kind` is no-consumers, growing-age, dead-letters, capacity or paused."""

    kind: str
    text: str


class QueueRow(Struct, frozen=True):
    account: str
    name: str
    fifo: bool
    paused: bool
    dead_letters: bool
    """Other queues send their dead letters here."""
    visible: int
    leased: int
    delayed: int
    bytes: int
    oldest_age_ms: int | None
    consumers: int
    rates: QueueRates
    alerts: tuple[QueueAlert, ...]

    @property
    def key(self) -> QueueKey:
        return QueueKey(self.account, self.name)


class Snapshot(Struct, frozen=True):
    at_ms: int
    rows: Mapping[QueueKey, QueueRow]
    total: HistoryPoint


class _Seen(Struct):
    """A queue at the last snapshot."""

    tally: QueueTally
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
        self._timer_ns = timer_ns
        self._alone = alone
        self._targets: set[QueueKey] = set()
        self._last: Snapshot | None = None
        self._rest_ms = 0
        self._making: asyncio.Task[Snapshot] | None = None
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
        return await self._fresh(now_ms)

    async def history(self, queue: Queue) -> list[HistoryPoint]:
        await self.current()
        seen = self._seen.get(queue.number)
        return list(seen.points) if seen else []

    @property
    def totals(self) -> list[HistoryPoint]:
        return list(self._totals)

    async def _fresh(self, now_ms: int) -> Snapshot:
        last = self._last
        if last is not None and now_ms - last.at_ms < max(INTERVAL_MS, self._rest_ms):
            return last
        if self._making is None or self._making.done():
            self._making = asyncio.get_running_loop().create_task(self._make(now_ms))
        return await asyncio.shield(self._making)

    async def _keep_points(self) -> None:
        """Go on for a while without viewers, so that one who comes back finds no gap."""
        while self._service.clock.now_ms() - self._asked_ms < WATCHED_MS:
            await asyncio.sleep(POINT_MS / 1_000)
            with contextlib.suppress(UnavailableError):
                await self._fresh(self._service.clock.now_ms())

    async def _make(self, now_ms: int) -> Snapshot:
        begun_ns = self._timer_ns()
        queues = self._service.queues
        counted: list[tuple[Queue, Counts]] = []
        async for queue in queues.each():
            with contextlib.suppress(QueueMissing):
                # It was removed meanwhile.
                counted.append((queue, await queues.counts(queue)))
        self._targets = {
            queue.settings.redrive.target for queue, _ in counted if queue.settings.redrive
        }
        passed_ms = now_ms - self._last.at_ms if self._last else 0
        rows: dict[QueueKey, QueueRow] = {}
        seen: dict[int, _Seen] = {}
        for queue, counts in counted:
            before = self._seen.get(queue.number)
            known = seen[queue.number] = self._look(queue, before)
            rates = _rates(known.tally, before.tally if before else None, passed_ms)
            row = rows[queue.key] = self._row(queue, counts, rates, known.points)
            self._keep_point(known.points, _point(row, now_ms))
        self._seen = seen
        total = total_of(rows.values(), now_ms)
        self._keep_point(self._totals, total)
        self._last = Snapshot(now_ms, rows, total)
        self.made += 1
        self._rest_ms = (self._timer_ns() - begun_ns) * REST_FACTOR // 1_000_000
        return self._last

    def _look(self, queue: Queue, before: "_Seen | None") -> "_Seen":
        tally = msgspec.structs.replace(self._tally_of(queue))
        return _Seen(tally, before.points if before else deque(maxlen=POINTS_MAX))

    def _row(
        self, queue: Queue, counts: Counts, rates: QueueRates, points: Sequence[HistoryPoint]
    ) -> QueueRow:
        now_ms = self._service.clock.now_ms()
        consumers = self._service.clients.consumers(queue.key, now_ms - CONSUMER_MS)
        consumers = max(consumers, self._service.polls.parked_at(queue.number))
        age_ms = None if counts.oldest_ms is None else max(now_ms - counts.oldest_ms, 0)
        return QueueRow(
            queue.key.account,
            queue.key.name,
            fifo=queue.settings.fifo,
            paused=queue.settings.delivery_paused,
            dead_letters=queue.key in self._targets,
            visible=counts.visible,
            leased=counts.leased,
            delayed=counts.delayed,
            bytes=counts.bytes,
            oldest_age_ms=age_ms,
            consumers=consumers,
            rates=rates,
            alerts=tuple(self._alerts(queue, counts, consumers, age_ms or 0, points)),
        )

    def _alerts(
        self,
        queue: Queue,
        counts: Counts,
        consumers: int,
        age_ms: int,
        points: Sequence[HistoryPoint],
    ) -> Iterator[QueueAlert]:
        is_target = queue.key in self._targets
        if is_target and counts.visible + counts.leased:
            yield QueueAlert("dead-letters", "messages could not be handled by their consumers")
        elif queue.settings.delivery_paused:
            if counts.visible:
                yield QueueAlert("paused", "delivery is paused, and messages wait")
        elif age_ms >= CONSUMER_MS and not consumers and self._alone:
            yield QueueAlert("no-consumers", "messages wait, and nobody receives")
        elif age_ms >= GROWING_AGE_MS and _grows(points, age_ms):
            yield QueueAlert("growing-age", "the oldest message becomes older and older")
        if counts.leased >= NEAR_SHARE * limits.LEASED_MAX:
            yield QueueAlert("capacity", f"{counts.leased} of {limits.LEASED_MAX} leases are used")

    def _keep_point(self, points: deque[HistoryPoint], point: HistoryPoint) -> None:
        if not points or point.at_ms - points[-1].at_ms >= POINT_MS:
            points.append(point)


def _rates(now: QueueTally, before: QueueTally | None, passed_ms: int) -> QueueRates:
    if before is None or passed_ms <= 0:
        return QueueRates()

    def rate(name: str) -> float:
        risen: int = max(getattr(now, name) - getattr(before, name), 0)
        return round(risen * 1_000 / passed_ms, 2)

    return QueueRates(*(rate(name) for name in QueueRates.__struct_fields__))


def _grows(points: Sequence[HistoryPoint], age_ms: int) -> bool:
    """Whether the age was higher at each of the last points than at the one before."""
    ages = [*(point.oldest_age_ms for point in list(points)[-GROWING_POINTS:]), age_ms]
    return len(ages) > GROWING_POINTS and all(a < b for a, b in pairwise(ages))


def _point(row: QueueRow, now_ms: int) -> HistoryPoint:
    rates = row.rates
    return HistoryPoint(
        now_ms,
        row.visible,
        row.leased,
        row.delayed,
        row.oldest_age_ms or 0,
        rates.sent,
        rates.received,
        rates.settled,
    )


def total_of(rows: Iterable[QueueRow], now_ms: int) -> HistoryPoint:
    """The sums of some queues, and the greatest age among them."""
    found = list(rows)
    return HistoryPoint(
        now_ms,
        sum(row.visible for row in found),
        sum(row.leased for row in found),
        sum(row.delayed for row in found),
        max((row.oldest_age_ms or 0 for row in found), default=0),
        round(sum(row.rates.sent for row in found), 2),
        round(sum(row.rates.received for row in found), 2),
        round(sum(row.rates.settled for row in found), 2),
    )
