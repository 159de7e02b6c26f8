"""Chooses the queues that have labels of their own in metrics, and sums up the others.

A counter must never decrease, or Prometheus takes it for a restart. So the counts of a queue from
the time when it had no label stay with the others, and its own counter starts with new events.
"""

import heapq
from collections.abc import Mapping
from typing import Final

from dovemq.telemetry.meter import QueueTally

COUNTERS: Final = (
    *(
        (f"dovemq_messages_{field}_total", field)
        for field in (
            "sent",
            "received",
            "settled",
            "extended",
            "expired",
            "redriven",
            "exchanged",
            "released",
        )
    ),
    ("dovemq_receive_hits_total", "hits"),
    ("dovemq_receive_misses_total", "misses"),
    ("dovemq_receives_empty_total", "empty_receives"),
    ("dovemq_monitor_looks_total", "monitor_looks"),
)
"""The names of metrics, and the fields of `QueueTally` that they show."""

Counts = list[int]


class QueueLabels:
    def __init__(self, queues_max: int) -> None:
        self._queues_max = queues_max
        self._seen: dict[int, Counts] = {}
        self._own: dict[int, Counts] = {}
        self._other: Counts = [0] * len(COUNTERS)

    def chosen(self, tallies: Mapping[int, QueueTally]) -> set[int]:
        """The numbers of the busiest queues; older queues come first among equals."""
        if len(tallies) <= self._queues_max:
            return set(tallies)
        busiest = heapq.nlargest(
            self._queues_max, tallies, key=lambda number: (tallies[number].traffic, -number)
        )
        return set(busiest)

    def share_out(
        self, tallies: Mapping[int, QueueTally], chosen: set[int]
    ) -> tuple[Mapping[int, Counts], Counts]:
        """The counts of each chosen queue, and those of all others together."""
        own: dict[int, Counts] = {}
        seen: dict[int, Counts] = {}
        for number, tally in tallies.items():
            counts = [getattr(tally, field) for _, field in COUNTERS]
            before = self._seen.get(number)
            fresh = counts if before is None else _difference(counts, before)
            if number in chosen:
                had = self._own.get(number)
                own[number] = fresh if had is None else _total(had, fresh)
            else:
                self._other = _total(self._other, fresh)
            seen[number] = counts
        self._own, self._seen = own, seen
        return own, self._other


def _total(one: Counts, other: Counts) -> Counts:
    return [a + b for a, b in zip(one, other, strict=True)]


def _difference(one: Counts, other: Counts) -> Counts:
    return [a - b for a, b in zip(one, other, strict=True)]
