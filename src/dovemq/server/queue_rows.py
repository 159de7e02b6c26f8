"""The row of a queue in the shared picture of all queues: counts, rates, alerts.

Everything here is a function of what was counted; `snapshots.py` counts and keeps the rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.commands import Counts
from dovemq.core.history import HistoryPoint
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.workflows.specification import queue_of_dead_letters
from dovemq.telemetry.meter import QueueTally

CONSUMER_MS: Final = limits.MINUTE_MS
"""A queue whose messages wait this long without a receive has no consumers."""
GROWING_POINTS: Final = 6
GROWING_AGE_MS: Final = limits.MINUTE_MS
NEAR_SHARE: Final = 0.9
"""The share of a limit from which on it is near."""


class QueueRates(Struct, frozen=True):
    """Messages per second at this front end; `misses` are receives that found nothing."""

    sent: float = 0.0
    received: float = 0.0
    settled: float = 0.0
    redriven: float = 0.0
    misses: float = 0.0


AT_REST: Final = QueueRates()


class QueueAlert(Struct, frozen=True):
    """`kind` is no-consumers, growing-age, dead-letters, capacity or paused."""

    kind: str
    text: str


class QueueRow(Struct, frozen=True):
    """The figures of a queue. They name times and no ages, so that those of one at rest stay."""

    account: str
    name: str
    fifo: bool
    paused: bool
    dead_letters: bool
    """Other queues, or the tasks of a topic, send their dead letters here."""
    visible: int
    leased: int
    delayed: int
    bytes: int
    oldest_ms: int | None
    consumers: int
    rates: QueueRates
    alerts: tuple[QueueAlert, ...]

    @property
    def label(self) -> str:
        return f"{self.account}/{self.name}"

    def age_ms(self, at_ms: int) -> int | None:
        """The age of the oldest visible message."""
        return None if self.oldest_ms is None else max(at_ms - self.oldest_ms, 0)


def rates_of(now: QueueTally, before: QueueTally, passed_ms: int) -> QueueRates:
    if passed_ms <= 0:
        return AT_REST

    def rate(name: str) -> float:
        risen: int = max(getattr(now, name) - getattr(before, name), 0)
        return round(risen * 1_000 / passed_ms, 2)

    return QueueRates(*(rate(name) for name in QueueRates.__struct_fields__))


def row_of(
    queue: Queue,
    counts: Counts,
    consumers: int,
    rates: QueueRates,
    alerts: tuple[QueueAlert, ...],
    *,
    dead_letters: bool,
) -> QueueRow:
    return QueueRow(
        queue.key.account,
        queue.key.name,
        fifo=queue.settings.fifo,
        paused=queue.settings.delivery_paused,
        dead_letters=dead_letters,
        visible=counts.visible,
        leased=counts.leased,
        delayed=counts.delayed,
        bytes=counts.bytes,
        oldest_ms=counts.oldest_ms,
        consumers=consumers,
        rates=rates,
        alerts=alerts,
    )


def dead_letter_queues(queues: Iterable[Queue]) -> dict[QueueKey, str]:
    """The queues that hold dead letters, each with the text of its alert."""
    known = {queue.key: queue for queue in queues}
    texts: dict[QueueKey, str] = {}
    for key, queue in known.items():
        origin = queue_of_dead_letters(key.name)
        if origin is not None and QueueKey(key.account, origin) in known:
            texts[key] = "tasks have failed for good: retry their jobs, then delete the messages"
        if queue.settings.redrive is not None:
            texts[queue.settings.redrive.target] = (
                "messages could not be handled by their consumers"
            )
    return texts


def alerts_of(
    queue: Queue,
    counts: Counts,
    consumers: int,
    age_ms: int,
    points: Sequence[HistoryPoint],
    dead_letters: str | None,
    *,
    alone: bool,
) -> Iterator[QueueAlert]:
    """`dead_letters` is the text for a queue of dead letters.

    Unless the front end is `alone`, a queue without consumers here may have some elsewhere.
    """
    if dead_letters is not None and counts.visible + counts.leased:
        yield QueueAlert("dead-letters", dead_letters)
    elif queue.settings.delivery_paused:
        if counts.visible:
            yield QueueAlert("paused", "delivery is paused, and messages wait")
    elif age_ms >= CONSUMER_MS and not consumers and alone:
        yield QueueAlert("no-consumers", "messages wait, and nobody receives")
    elif age_ms >= GROWING_AGE_MS and _grows(points, age_ms):
        yield QueueAlert("growing-age", "the oldest message becomes older and older")
    if counts.leased >= NEAR_SHARE * limits.LEASED_MAX:
        yield QueueAlert("capacity", f"{counts.leased} of {limits.LEASED_MAX} leases are used")


def point_of(row: QueueRow, now_ms: int) -> HistoryPoint:
    rates = row.rates
    return HistoryPoint(
        now_ms,
        row.visible,
        row.leased,
        row.delayed,
        row.age_ms(now_ms) or 0,
        rates.sent,
        rates.received,
        rates.settled,
    )


def total_of(rows: Iterable[QueueRow], now_ms: int) -> HistoryPoint:
    """The sums of some queues, and the greatest age among them."""
    visible = leased = delayed = 0
    oldest_ms = now_ms
    sent = received = settled = 0.0
    for row in rows:
        visible += row.visible
        leased += row.leased
        delayed += row.delayed
        if row.oldest_ms is not None and row.oldest_ms < oldest_ms:
            oldest_ms = row.oldest_ms
        if row.rates is not AT_REST:
            sent += row.rates.sent
            received += row.rates.received
            settled += row.rates.settled
    rates = (round(each, 2) for each in (sent, received, settled))
    return HistoryPoint(now_ms, visible, leased, delayed, now_ms - oldest_ms, *rates)


def _grows(points: Sequence[HistoryPoint], age_ms: int) -> bool:
    """Whether the age was higher at each of the last points than at the one before."""
    ages = [*(point.oldest_age_ms for point in list(points)[-GROWING_POINTS:]), age_ms]
    return len(ages) > GROWING_POINTS and all(a < b for a, b in pairwise(ages))
