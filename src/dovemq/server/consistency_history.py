"""The consistency of a queue over time: what monitors have published, and the K of that time.

Monitors publish totals. The difference of two totals of the same monitor is what happened between
them; without an earlier total it is the total itself.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue
from dovemq.server.measurements import Measurement, PublishedMeasurement
from dovemq.service.recent import RecentRecords

POINTS_KEPT: Final = 300
POINT_MS: Final = limits.MINUTE_MS
"""Totals that follow within this time are one point with the newest of them: five hours in all."""
_TOTALS: Final = ("messages", "received", "duplicates", "ordered", "out_of_order", "displacement")
_LEVELS: Final = ("lost", "open")
"""They may fall: an open message arrives, or is lost."""


class ConsistencyPoint(Struct, frozen=True):
    """`k` is the order hint in force at the front end that was told, `first_ms` the first time."""

    measured: PublishedMeasurement
    order_hint: int | str
    k: int
    first_ms: int


class ConsistencyHistory:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._records = RecentRecords(store, clock, "consistency", ConsistencyPoint, POINTS_KEPT)

    async def add(self, queue: Queue, measured: PublishedMeasurement, k: int) -> None:
        hint = queue.settings.order_hint
        point = ConsistencyPoint(measured, hint, k, measured.published_ms)
        await self._records.add(str(queue.number), point, _joined)

    async def newest(self, queue: Queue) -> PublishedMeasurement | None:
        point = await self._records.newest(str(queue.number))
        return point.measured if point else None

    async def points(self, queue: Queue) -> list[ConsistencyPoint]:
        """The oldest first."""
        return (await self._records.page(str(queue.number), POINTS_KEPT))[::-1]


def history_document(points: Sequence[ConsistencyPoint]) -> dict[str, Any]:
    """Points with the rates of the time before each, and these rates together for each K."""
    steps = [_step(None, points[0]), *(_step(*pair) for pair in pairwise(points))] if points else []
    shown = [
        {
            "at_ms": point.measured.published_ms,
            "source": point.measured.measurement.source,
            "order_hint": point.order_hint,
            "k": point.k,
            "messages": step.messages,
            "recent": step.rates if step.messages or step.ordered else None,
            "total": point.measured.measurement.rates,
        }
        for point, step in zip(points, steps, strict=True)
    ]
    by_k: dict[int, Measurement] = {}
    for point, step in zip(points, steps, strict=True):
        known = by_k.get(point.k)
        by_k[point.k] = _sum(known, step) if known else step
    effect = [
        {"k": k, "messages": by_k[k].messages, **by_k[k].rates}
        for k in sorted(by_k)
        if by_k[k].messages or by_k[k].ordered
    ]
    return {"points": shown, "by_k": effect}


def _step(before: ConsistencyPoint | None, point: ConsistencyPoint) -> Measurement:
    now = point.measured.measurement
    if before is None:
        return now
    then = before.measured.measurement
    same = (then.source, then.from_ms) == (now.source, now.from_ms)
    differences = {name: getattr(now, name) - getattr(then, name) for name in _TOTALS}
    if not same or min(differences.values()) < 0:
        return now
    levels = {name: max(getattr(now, name) - getattr(then, name), 0) for name in _LEVELS}
    return msgspec.structs.replace(now, **differences, **levels)


def _sum(one: Measurement, other: Measurement) -> Measurement:
    counted = (*_TOTALS, *_LEVELS)
    sums = {name: getattr(one, name) + getattr(other, name) for name in counted}
    return msgspec.structs.replace(other, **sums)


def _joined(newest: ConsistencyPoint, point: ConsistencyPoint) -> ConsistencyPoint | None:
    def stamp(each: ConsistencyPoint) -> tuple[object, ...]:
        measurement = each.measured.measurement
        return measurement.source, measurement.from_ms, each.order_hint, each.k

    if stamp(newest) != stamp(point) or point.first_ms - newest.first_ms >= POINT_MS:
        return None
    return msgspec.structs.replace(point, first_ms=newest.first_ms)
