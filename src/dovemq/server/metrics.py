"""The text of all metrics: gathered on the event loop in steps, formatted in a thread."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Final

import msgspec

from dovemq.core.commands import Counts
from dovemq.core.errors import QueueMissing
from dovemq.core.queue import Queue
from dovemq.server.measurements import Measurements
from dovemq.service import Service
from dovemq.telemetry.counters import REQUEST_NS_BOUNDS, RequestMeter
from dovemq.telemetry.labels import COUNTERS, QueueLabels
from dovemq.telemetry.meter import ExchangeFlow, Meter, QueueTally
from dovemq.telemetry.metrics import OTHER, Distribution, MetricSample, exposition

_STORE_COUNTERS: Final = (
    ("dovemq_checkpoints_total", "checkpoints"),
    ("dovemq_cache_hits_total", "cache_hits"),
    ("dovemq_cache_misses_total", "cache_misses"),
    ("dovemq_cache_bytes", "cache_bytes"),
    ("dovemq_messages_damaged_total", "damaged"),
)
_STORE_STATES: Final = ("ok", "full", "failed")
_STATES: Final = ("visible", "leased", "delayed")

Source = Callable[[], Iterable[MetricSample]]
Labels = tuple[str, str]


@dataclass(slots=True)
class Metrics:
    """Gathers metrics. `sources` return the samples that belong to no single queue."""

    _service: Service
    _meter: Meter
    queues_max: InitVar[int]
    _sources: Sequence[Source]
    _measurements: Measurements = field(default_factory=Measurements)
    _labels: QueueLabels = field(init=False)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self, queues_max: int) -> None:
        self._labels = QueueLabels(queues_max)

    def tally(self, queue: Queue) -> QueueTally:
        """The counters of one queue since the start of the process."""
        return self._meter.queues.get(queue.number) or QueueTally(queue.key)

    def flows(self, queue: Queue) -> list[ExchangeFlow]:
        """The exchanges between the partitions of one queue since the start of the process."""
        return self._meter.flows(queue)

    async def text(self) -> bytes:
        async with self._one_at_a_time:
            samples = [*await self._queues(), *_commits(self._meter)]
            samples += self._meter.workflows.samples()
            for source in self._sources:
                samples += source()
            return await asyncio.to_thread(exposition, samples)

    async def _queues(self) -> list[MetricSample]:
        counted = await self._counted()
        tallies = {number: self.tally(queue) for number, (queue, _) in counted.items()}
        chosen = self._labels.chosen(tallies)
        own, other = self._labels.share_out(tallies, chosen)
        now_ms = self._service.clock.now_ms()
        samples = [MetricSample("dovemq_queues", len(counted))]
        rest: list[Counts] = []
        for number, (queue, counts) in counted.items():
            if number in chosen:
                labels = (queue.key.account, queue.key.name)
                samples += _queue_samples(labels, [counts], own[number], now_ms)
                samples += self._measurements.samples(queue)
            else:
                rest.append(counts)
        if rest or any(other):
            samples += _queue_samples((OTHER, OTHER), rest, other, now_ms)
        return samples

    async def _counted(self) -> dict[int, tuple[Queue, Counts]]:
        queues = self._service.queues
        counted: dict[int, tuple[Queue, Counts]] = {}
        async for queue in queues.each():
            # It may have been removed while others were counted.
            with contextlib.suppress(QueueMissing):
                counted[queue.number] = (queue, await queues.counts(queue))
        return counted


def _queue_samples(
    labels: Labels, all_counts: Sequence[Counts], counters: Sequence[int], now_ms: int
) -> Iterator[MetricSample]:
    for state in _STATES:
        held = sum(getattr(counts, state) for counts in all_counts)
        yield MetricSample("dovemq_queue_messages", held, (*labels, state))
    ages_ms = [now_ms - each.oldest_ms for each in all_counts if each.oldest_ms is not None]
    age_seconds = max(ages_ms, default=0) / 1_000
    yield MetricSample("dovemq_queue_oldest_claimable_age_seconds", age_seconds, labels)
    for (name, _), value in zip(COUNTERS, counters, strict=True):
        yield MetricSample(name, value, labels)


def _commits(meter: Meter) -> Iterator[MetricSample]:
    times, items = meter.commit_us, meter.commit_items
    if not any(times.counts):
        return
    bounds = [bound / 1_000_000 for bound in times.bounds]
    seconds = Distribution(bounds, list(times.counts), times.total / 1_000_000)
    yield MetricSample("dovemq_commit_seconds", seconds)
    yield MetricSample(
        "dovemq_commit_items", Distribution(items.bounds, list(items.counts), items.total)
    )


def request_samples(requests: RequestMeter) -> Iterator[MetricSample]:
    bounds = [bound / 1_000_000_000 for bound in REQUEST_NS_BOUNDS]
    for name, tally in requests.operations.items():
        if not any(tally.counts):
            continue
        outcomes = {"ok": tally.answered, "refused": tally.refused, "failed": tally.failed}
        for outcome, count in outcomes.items():
            yield MetricSample("dovemq_requests_total", count, (name, outcome))
        times = Distribution(bounds, list(tally.counts), tally.total / 1_000_000_000)
        yield MetricSample("dovemq_request_seconds", times, (name,))


def store_samples(statistics: Any) -> Iterator[MetricSample]:
    """Samples of a durable store, from the statistics of its `StoreCare`."""
    known: Mapping[str, Any] = msgspec.to_builtins(statistics)
    for name, counter in _STORE_COUNTERS:
        yield MetricSample(name, known[counter])
    for state in _STORE_STATES:
        yield MetricSample("dovemq_store_state", int(known["state"] == state), (state,))
